"""A LangGraph graph with a scripted model. As a program: asks the graph of the recipe used.py."""
import asyncio
import base64
import time

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class Scripted(BaseChatModel):
    tools: list = []

    @property
    def _llm_type(self):
        return 'scripted'

    def bind_tools(self, tools, **kwargs):
        return Scripted(tools=tools)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        newest = messages[-1]
        heard = [message.text for message in messages[:-1]]
        read = [base64.b64decode(block['base64']).decode() for block in newest.content_blocks if 'base64' in block]
        answers = {'recall': f'heard: {heard}', 'read': f'read: {read}'}
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
            message = AIMessage('LangGraph ' + answers.get(newest.text, f'did: {newest.text}'))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        message = self._generate(messages).generations[0].message
        first, space, rest = message.text.partition(' ')
        for text in [first + space, rest]:
            piece = AIMessageChunk(text, tool_calls=message.tool_calls if text == rest else [])
            yield ChatGenerationChunk(message=piece)


model = Scripted()


def answer(state: MessagesState):
    asked = state['messages'][-1].text
    if asked == 'question':
        return {'messages': [AIMessage('LangGraph got: ' + interrupt('which colour?'))]}
    if asked == 'file':
        file = {'type': 'file', 'base64': base64.b64encode(b'buy milk').decode(), 'mime_type': 'text/plain'}
        return {'messages': [AIMessage([file])]}
    return {'messages': [model.invoke(state['messages'])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, 'answer').compile()


async def main():
    from lines import serve
    from used import boss

    async def say(text, session):
        done = await boss.ainvoke({'messages': [('user', text)]})
        return {'answer': done['messages'][-1].text}

    await serve(say)


if __name__ == '__main__':
    asyncio.run(main())
