"""A LangGraph graph with a scripted model. As a program: asks the graph of the recipe used.py."""
import asyncio
import json
import sys
import time

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph


class Scripted(BaseChatModel):
    tools: list = []

    @property
    def _llm_type(self):
        return 'scripted'

    def bind_tools(self, tools, **kwargs):
        return Scripted(tools=tools)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        newest = messages[-1]
        if newest.text == 'wait':
            time.sleep(600)
        if newest.text == 'fail':
            raise RuntimeError('the model is away')
        if newest.type == 'tool':
            message = AIMessage(newest.text)
        elif self.tools:
            call = {'name': 'operator', 'args': {'request': newest.text}, 'id': 'c1'}
            message = AIMessage('', tool_calls=[call])
        else:
            message = AIMessage(f'LangGraph did: {newest.text}')
        return ChatResult(generations=[ChatGeneration(message=message)])


model = Scripted()


def answer(state: MessagesState):
    return {'messages': [model.invoke(state['messages'])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, 'answer').compile()


async def main():
    from used import boss

    done = await boss.ainvoke({'messages': [('user', sys.argv[1])]})
    print(json.dumps({'answer': done['messages'][-1].text}))


if __name__ == '__main__':
    asyncio.run(main())
