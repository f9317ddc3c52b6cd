"""An agent of Microsoft's Agent Framework with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
import sys

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
        else:
            contents = [Content.from_text(f'Microsoft did: {newest.text}')]

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
            yield ChatResponseUpdate(role='assistant', contents=contents)

        return self._build_response_stream(pieces()) if stream else whole()


client = Scripted()
agent = Agent(client=client, name='agent-framework', description='Does what it is told.')


async def main():
    from used import boss

    print(json.dumps({'answer': (await boss.run(sys.argv[1])).text}))


if __name__ == '__main__':
    asyncio.run(main())
