"""An ADK agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
import sys

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        asked = llm_request.contents[-1].parts[-1].text
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        part = types.Part(text=f'ADK did: {asked}')
        if 'transfer_to_agent' in llm_request.tools_dict:
            part = types.Part.from_function_call(name='transfer_to_agent', args={'agent_name': 'operator'})
        yield LlmResponse(content=types.Content(role='model', parts=[part]))


model = Scripted(model='scripted')
root_agent = LlmAgent(name='adk_agent', description='Does what it is told.', model=model)


async def main():
    from google.adk.runners import InMemoryRunner
    from used import root_agent as boss

    runner = InMemoryRunner(agent=boss, app_name='interop')
    session = await runner.session_service.create_session(app_name='interop', user_id='u')
    message = types.Content(role='user', parts=[types.Part(text=sys.argv[1])])
    answer = ''
    async for event in runner.run_async(user_id='u', session_id=session.id, new_message=message):
        parts = event.content.parts if event.content and event.is_final_response() else []
        # A question of a remote agent is a long-running function call.
        asked = [part.function_call.args.get('input_required') or '' for part in parts if part.function_call]
        answer = ''.join([part.text or '' for part in parts] + asked) or answer
    print(json.dumps({'answer': answer}))


if __name__ == '__main__':
    asyncio.run(main())
