"""A Pydantic AI agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel


async def answer(messages, info):
    newest = messages[-1].parts[-1]
    if newest.part_kind == 'tool-return':
        return ModelResponse(parts=[TextPart(newest.content)])
    if info.function_tools:
        return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, {'request': newest.content})])
    asked = newest.content if isinstance(newest.content, str) else newest.content[0]
    if asked == 'wait':
        await asyncio.sleep(600)
    if asked == 'fail':
        raise RuntimeError('the model is away')
    return ModelResponse(parts=[TextPart(f'Pydantic did: {asked}')])


async def deltas(messages, info):
    yield (await answer(messages, info)).parts[0].content


model = FunctionModel(answer, stream_function=deltas)
agent = Agent(model, name='pydantic')

if __name__ == '__main__':
    from used import boss

    print(json.dumps({'answer': boss.run_sync(sys.argv[1]).output}))
