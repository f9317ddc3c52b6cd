"""An agent of Microsoft's Agent Framework with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import base64

from agent_framework import Agent, BaseChatClient, ChatResponse, ChatResponseUpdate, Content, FunctionInvocationLayer, Message


class Scripted(FunctionInvocationLayer, BaseChatClient):
    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        newest = messages[-1]
        results = [one for one in newest.contents if one.type == 'function_result']
        tools = options.get('tools') or []
        if results:
            contents = [Content.from_text(str(results[0].result))]
        elif tools:
            contents = [Content.from_function_call('c1', tools[0].name, arguments={'task': newest.text})]
        elif newest.text == 'file':
            contents = [Content.from_data(b'buy milk', 'text/plain')]
        else:
            heard = [message.text for message in messages[:-1]]
            read = [one.uri for one in newest.contents if one.type == 'data']
            answers = {'recall': f'heard: {heard}', 'read': f'read: {read}'}
            contents = [
                Content.from_text('Microsoft '),
                Content.from_text(answers.get(newest.text, f'did: {newest.text}')),
            ]

        async def obey():
            if newest.text == 'wait':
                await asyncio.sleep(600)
            if newest.text == 'fail':
                raise RuntimeError('the model is away')

        async def whole():
            await obey()
            return ChatResponse(messages=[Message('assistant', contents)])

        async def pieces():
            await obey()
            for content in contents:
                yield ChatResponseUpdate(role='assistant', contents=[content])

        return self._build_response_stream(pieces()) if stream else whole()


client = Scripted()
agent = Agent(client=client, name='agent-framework', description='Does what it is told.')


async def main():
    from lines import serve
    from used import boss, operator

    sessions = {}

    async def say(text, session):
        return {'answer': (await boss.run(text)).text}

    async def tell(text, session='direct', file=None):
        contents = [Content.from_text(text)]
        if file:
            contents.append(Content.from_data(base64.b64decode(file), 'text/plain'))
        session = sessions.setdefault(session, operator.create_session())
        response = await operator.run(Message('user', contents), session=session)
        found = [one.uri for message in response.messages for one in message.contents if one.type == 'data']
        return {'answer': response.text, 'files': [uri.partition(',')[2] for uri in found]}

    async def stream(text):
        updates = [update async for update in operator.run(text, stream=True)]
        return {'answer': ''.join(update.text for update in updates), 'pieces': len(updates)}

    async def get(text):
        """Begins a task in the background, and asks for it until it has ended."""
        response = await operator.run(text, background=True)
        while token := response.continuation_token:
            await asyncio.sleep(0.1)
            response = await operator.poll_task(token)
        return {'answer': response.text}

    await serve(say, tell, stream, get)


if __name__ == '__main__':
    asyncio.run(main())
