"""An ADK agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import base64

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        newest = llm_request.contents[-1].parts
        asked = next((part.text for part in newest if part.text), None)
        result = next((part.function_response.response for part in newest if part.function_response), None)
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        said = [part.text for content in llm_request.contents[:-1] for part in content.parts if content.role == 'user']
        files = [part.inline_data.data.decode() for part in newest if part.inline_data]
        part = types.Part(text=f'ADK did: {asked}')
        if result:
            part = types.Part(text=f'ADK got: {result}')
        elif asked == 'recall':
            part = types.Part(text=f'ADK heard: {said}')
        elif asked == 'read':
            part = types.Part(text=f'ADK read: {files}')
        elif asked == 'file':
            part = types.Part.from_bytes(data=b'buy milk', mime_type='text/plain')
        elif asked in ('question', 'wipe'):
            part = types.Part.from_function_call(name=asked, args={'text': 'which colour?'})
        if 'transfer_to_agent' in llm_request.tools_dict:
            part = types.Part.from_function_call(name='transfer_to_agent', args={'agent_name': 'operator'})
        yield LlmResponse(content=types.Content(role='model', parts=[part]))


model = Scripted(model='scripted')


def question(text: str):
    """Asks the person."""


def wipe(text: str):
    """Needs a yes."""
    return {'wiped': text}


tools = [LongRunningFunctionTool(question), FunctionTool(wipe, require_confirmation=True)]
root_agent = LlmAgent(name='adk_agent', description='Does what it is told.', model=model, tools=tools)


async def main():
    from google.adk.runners import InMemoryRunner
    from lines import serve
    from used import operator
    from used import root_agent as boss

    runners = {agent.name: InMemoryRunner(agent=agent, app_name='interop') for agent in (boss, operator)}
    sessions = {}
    questions = {}

    async def ask(agent, text, session='one', file=None, mode=None):
        """The parts of the answer. A question of a remote agent is a long-running function call."""
        runner = runners[agent.name]
        if session not in sessions:
            sessions[session] = await runner.session_service.create_session(app_name='interop', user_id='u')
        parts = [types.Part(text=text)]
        if call := questions.pop(session, None):
            parts = [types.Part.from_function_response(name=call.name, response={'result': text})]
            parts[0].function_response.id = call.id
        if file:
            parts.append(types.Part.from_bytes(data=base64.b64decode(file), mime_type='text/plain'))
        answer, pieces = [], []
        async for event in runner.run_async(
            user_id='u',
            session_id=sessions[session].id,
            new_message=types.Content(role='user', parts=parts),
            run_config=RunConfig(streaming_mode=mode or StreamingMode.NONE),
        ):
            if event.error_message:
                raise RuntimeError(event.error_message)
            if event.content and event.partial:
                pieces += [part.text for part in event.content.parts if part.text]
            elif event.content and event.is_final_response():
                answer = event.content.parts
        for part in answer:
            if part.function_call:
                questions[session] = part.function_call
        return answer, pieces

    def text_of(parts):
        asked = [part.function_call.args.get('input_required') or '' for part in parts if part.function_call]
        return ''.join([part.text or '' for part in parts] + asked)

    async def say(text, session):
        return {'answer': text_of((await ask(boss, text, session))[0])}

    async def tell(text, session='direct', file=None):
        parts, _ = await ask(operator, text, session, file)
        files = [base64.b64encode(part.inline_data.data).decode() for part in parts if part.inline_data]
        return {'answer': text_of(parts), 'files': files}

    async def stream(text):
        _, pieces = await ask(operator, text, 'stream', mode=StreamingMode.SSE)
        return {'answer': ''.join(pieces), 'pieces': len(pieces)}

    await serve(say, tell, stream)


if __name__ == '__main__':
    asyncio.run(main())
