"""A Strands agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
import sys

from strands import Agent
from strands.models import Model


class Scripted(Model):
    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {'model_id': 'scripted'}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        newest = messages[-1]['content'][-1]
        result = newest.get('toolResult')
        if newest.get('text') == 'wait':
            await asyncio.sleep(600)
        if newest.get('text') == 'fail':
            raise RuntimeError('the model is away')
        yield {'messageStart': {'role': 'assistant'}}
        if tool_specs and not result:
            name = tool_specs[0]['name']
            yield {'contentBlockStart': {'start': {'toolUse': {'name': name, 'toolUseId': 't1'}}}}
            given = json.dumps({'request': newest['text']})
            yield {'contentBlockDelta': {'delta': {'toolUse': {'input': given}}}}
        else:
            said = result['content'][0]['text'] if result else f"Strands did: {newest['text']}"
            yield {'contentBlockStart': {'start': {}}}
            yield {'contentBlockDelta': {'delta': {'text': said}}}
        yield {'contentBlockStop': {}}
        yield {'messageStop': {'stopReason': 'tool_use' if tool_specs and not result else 'end_turn'}}


model = Scripted()


def my_agent(context_id):
    return Agent(name='strands', description='Does what it is told.', model=model, callback_handler=None)


if __name__ == '__main__':
    from used import boss

    print(json.dumps({'answer': str(boss(sys.argv[1])).strip()}))
