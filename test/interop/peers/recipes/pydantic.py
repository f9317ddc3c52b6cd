"""A Pydantic AI agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel


async def answer(messages, info):
    newest = messages[-1].parts[-1]
    prompts = [part for message in messages for part in message.parts if part.part_kind == 'user-prompt']
    if newest.part_kind == 'tool-return':
        return ModelResponse(parts=[TextPart(newest.content)])
    if info.function_tools:
        return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, {'request': newest.content})])
    said = [prompt.content for prompt in prompts if isinstance(prompt.content, str)]
    files = [content[0].data.decode() for content in (prompt.content for prompt in prompts) if not isinstance(content, str)]
    asked = said[-1]
    if asked == 'wait':
        await asyncio.sleep(600)
    if asked == 'fail':
        raise RuntimeError('the model is away')
    answers = {'recall': f'heard: {said[:-1]}', 'read': f'read: {files}'}
    return ModelResponse(parts=[TextPart('Pydantic ' + answers.get(asked, f'did: {asked}'))])


async def deltas(messages, info):
    first, _, rest = (await answer(messages, info)).parts[0].content.partition(' ')
    yield f'{first} '
    yield rest


model = FunctionModel(answer, stream_function=deltas)
agent = Agent(model, name='pydantic')

async def main():
    from lines import serve
    from used import boss

    async def say(text, session):
        return {'answer': (await boss.run(text)).output}

    await serve(say)


if __name__ == '__main__':
    asyncio.run(main())
