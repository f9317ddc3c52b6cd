"""An Agno agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
from dataclasses import dataclass

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse


@dataclass
class Scripted(Model):
    id: str = 'scripted'

    async def ainvoke_stream(self, messages, tools=None, **kwargs):
        newest = messages[-1]
        said = [message for message in messages if message.role == 'user']
        asked = said[-1].get_content_string()
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        if newest.role == 'tool':
            yield ModelResponse(role='assistant', content=newest.get_content_string())
        elif tools:
            function = {'name': tools[0]['function']['name'], 'arguments': json.dumps({'request': asked})}
            yield ModelResponse(role='assistant', tool_calls=[{'id': 'c1', 'type': 'function', 'function': function}])
        else:
            heard = [message.get_content_string() for message in said[:-1]]
            files = [file.content for file in said[-1].files or []]
            answers = {'recall': f'heard: {heard}', 'read': f'read: {files}'}
            for piece in ['Agno ', answers.get(asked, f'did: {asked}')]:
                yield ModelResponse(role='assistant', content=piece)

    async def ainvoke(self, *args, **kwargs):
        whole = ModelResponse(role='assistant', content='')
        async for piece in self.ainvoke_stream(*args, **kwargs):
            whole.content += piece.content or ''
            whole.tool_calls += piece.tool_calls
        return whole

    def invoke(self, *args, **kwargs):
        raise NotImplementedError

    invoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


model = Scripted()
agent = Agent(id='clerk', name='clerk', description='Does what it is told.', model=model, db=InMemoryDb(), add_history_to_context=True)


async def main():
    from lines import serve
    from used import boss

    async def say(text, session):
        return {'answer': (await boss.arun(text)).content}

    await serve(say)


if __name__ == '__main__':
    asyncio.run(main())
