"""An AG2 agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import base64
import json
from contextvars import ContextVar
from urllib.parse import urljoin

import httpx
import jwt
from a2a.utils.signing import create_signature_verifier
from ag2 import Agent
from ag2.a2a.push import A2APushConfig, create_push_notification_config
from ag2.a2a.tasks import cancel_task, get_task, list_tasks
from ag2.events import BinaryInput, ModelMessage, ModelMessageChunk, ModelRequest, ModelResponse, TextInput
from ag2.events import ToolCallEvent, ToolCallsEvent, ToolResultsEvent


class Scripted:
    provider = model = 'scripted'

    def copy(self):
        return self

    def create(self):
        return self

    async def __call__(self, messages, context, *, tools=(), **kwargs):
        newest = messages[-1]
        requests = [one for one in messages if isinstance(one, ModelRequest)]
        asked = texts(requests[-1])[-1]
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        if isinstance(newest, ToolResultsEvent):
            pieces = [str(newest.results[0].result.parts[0].content)]
        elif offered := list(tools):
            call = ToolCallEvent(offered[0].function.name, arguments=json.dumps({'objective': asked}))
            return ModelResponse(tool_calls=ToolCallsEvent([call]))
        else:
            files = [one.data for one in requests[-1].parts if isinstance(one, BinaryInput)]
            heard = [text for request in requests[:-1] for text in texts(request)]
            pieces = ['AG2 ', {'recall': f'heard: {heard}', 'read': f'read: {files}'}.get(asked, f'did: {asked}')]
        for piece in pieces:
            await context.send(ModelMessageChunk(piece))
        return ModelResponse(ModelMessage(''.join(pieces)))


def texts(request):
    return [part.content for part in request.parts if isinstance(part, TextInput)]


config = Scripted()
agent = Agent('ag2', config=config)
conversation = ContextVar('conversation')


class Conversation:
    """One request after the other; a question to the person is the answer of the request before."""

    def __init__(self, asked):
        self.asked, self.reply, self.running = asked, None, None

    async def tell(self, *parts):
        self.question = asyncio.get_running_loop().create_future()
        if self.running:
            self.answer.set_result(parts[0])
        else:
            conversation.set(self)
            self.running = asyncio.create_task((self.reply or self.asked).ask(*parts))
        await asyncio.wait([self.running, self.question], return_when='FIRST_COMPLETED')
        if not self.running.done():
            return self.question.result()
        self.reply, self.running = await self.running, None
        return self.reply.body

    async def ask(self, request):
        self.answer = asyncio.get_running_loop().create_future()
        self.question.set_result(request.content)
        return await self.answer


async def ask_person(request):
    return await conversation.get().ask(request)


async def main():
    from lines import serve
    from my_agent import Conversation
    from used import boss, operator, remote

    told = {}

    async def say(text, session):
        return {'answer': await Conversation(boss).tell(text)}

    async def tell(text, session='direct', file=None):
        parts = [BinaryInput(base64.b64decode(file), media_type='text/plain')] if file else []
        answer = await told.setdefault(session, Conversation(operator)).tell(text, *parts)
        return {'answer': answer}

    async def stream(text):
        pieces = []
        async with operator.run(text) as run:
            run.stream.where(ModelMessageChunk).subscribe(lambda event: pieces.append(event.content))
            reply = await run.result()
        return {'answer': reply.body, 'pieces': len(pieces)}

    async def card():
        """The name on the public and on the extended card, whose signatures the client verifies."""
        keys = jwt.PyJWKSet.from_dict(httpx.get(urljoin(remote.card_url, '/.well-known/jwks.json')).json())
        verify = create_signature_verifier(lambda kid, url: keys[kid].key, ['EdDSA'])
        names = []

        def verify_and_note(card):
            verify(card)
            names.append(card.name)

        verified = remote.copy(card_signature_verifier=verify_and_note)
        await Agent('verifier', config=verified).ask('say hello')
        return {'name': names[0] if names[:1] == names[1:] else str(names)}

    async def newest():
        listed = await list_tasks(remote)
        return listed.tasks[0].id

    async def cancel(text):
        waiting = asyncio.create_task(operator.ask(text))
        while not waiting.done():
            await asyncio.sleep(0.2)
            task = await get_task(remote, await newest())
            if task.status.state == 2:
                break
        canceled = await cancel_task(remote, task.id)
        await asyncio.wait([waiting])
        return {'answer': {5: 'canceled'}.get(canceled.status.state, str(canceled.status))}

    async def get(text):
        await operator.ask(text)
        return {'answer': str(await get_task(remote, await newest()))}

    async def list():
        return {'answer': await newest()}

    async def push(text, url):
        await operator.ask(text)
        await create_push_notification_config(remote, await newest(), A2APushConfig(url=url))
        return {}

    list.__name__ = 'list'
    await serve(say, tell, stream, card, cancel, get, list, push)


if __name__ == '__main__':
    asyncio.run(main())
