"""A Strands agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json

from strands import Agent, ToolContext, tool
from strands.models import Model


class Scripted(Model):
    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {'model_id': 'scripted'}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        newest = messages[-1]['content']
        asked = next((block['text'] for block in newest if 'text' in block), '')
        result = newest[-1].get('toolResult')
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        yield {'messageStart': {'role': 'assistant'}}
        name = tool_specs and tool_specs[0]['name']
        calls = name and not result and (name != 'question' or asked == 'question')
        if calls:
            yield {'contentBlockStart': {'start': {'toolUse': {'name': name, 'toolUseId': 't1'}}}}
            given = json.dumps({'text': 'which colour?'} if name == 'question' else {'request': asked})
            yield {'contentBlockDelta': {'delta': {'toolUse': {'input': given}}}}
        else:
            heard = [block.get('text') for message in messages[:-1] for block in message['content']]
            said = {'recall': f'heard: {heard}', 'read': f'read: {newest}'}.get(asked, f'did: {asked}')
            yield {'contentBlockStart': {'start': {}}}
            for piece in [result['content'][0]['text']] if result else ['Strands ', said]:
                yield {'contentBlockDelta': {'delta': {'text': piece}}}
        yield {'contentBlockStop': {}}
        yield {'messageStop': {'stopReason': 'tool_use' if calls else 'end_turn'}}


model = Scripted()


@tool(context=True)
def question(text: str, tool_context: ToolContext) -> str:
    """Asks the person."""
    return 'Strands got: ' + tool_context.interrupt('question', reason=text)


def my_agent(context_id):
    return Agent(
        name='strands', description='Does what it is told.', model=model, tools=[question], callback_handler=None
    )


async def main():
    from lines import serve
    from used import boss, remote

    async def say(text, session):
        return {'answer': str(await boss.invoke_async(text)).strip()}

    async def tell(text, session):
        return {'answer': str(await remote.invoke_async(text)).strip()}

    async def stream(text):
        events = [event async for event in remote.stream_async(text)]
        return {'answer': str(events[-1]['result']).strip(), 'pieces': len(events)}

    async def card():
        return {'name': (await remote.get_agent_card()).name}

    await serve(say, tell, stream, card)


if __name__ == '__main__':
    asyncio.run(main())
