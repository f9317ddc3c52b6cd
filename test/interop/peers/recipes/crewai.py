"""A CrewAI agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import json
import re
import time

from crewai import BaseLLM, Crew, Task
from crewai.a2a.updates import PollingConfig, PushNotificationConfig, PushNotificationResultStore
from crewai.a2a.utils.agent_card import afetch_agent_card


tries = []


class Scripted(BaseLLM):
    def call(self, messages, *args, **kwargs):
        text = messages if isinstance(messages, str) else messages[-1]['content']
        asked = re.search('Current Task: (.*)', text)[1]
        if asked == 'wait':
            time.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        if 'AVAILABLE_A2A_AGENTS' not in text:
            answers = {'recall': f'heard: {text}', 'read': f'read: {text}'}
            return 'CrewAI ' + answers.get(asked, f'did: {asked}')
        tries.append(asked)
        if 'not my work' in str(messages) or tries.count(asked) > 2:
            return json.dumps({'is_a2a': False, 'message': f'it failed: {messages}', 'a2a_ids': []})
        from used import operator

        return json.dumps({'is_a2a': True, 'message': asked, 'a2a_ids': [str(operator.endpoint)]})


llm = Scripted(model='scripted')


class Elsewhere(PushNotificationResultStore):
    async def wait_for_result(self, task_id, timeout, poll_interval=1.0):
        return None

    async def get_result(self, task_id):
        return None

    async def store_result(self, task):
        pass


async def main():
    from lines import serve
    from used import boss, operator

    async def say(text, session):
        task = Task(description=text, expected_output='the answer', agent=boss)
        return {'answer': str(await asyncio.to_thread(Crew(agents=[boss], tasks=[task]).kickoff))}

    async def card():
        return {'name': (await afetch_agent_card(str(operator.endpoint), operator.auth)).name}

    async def get(text):
        """Follows the task by asking for it."""
        operator.updates = PollingConfig(interval=0.1)
        return await say(text, text)

    async def push(text, url):
        """Waits for the webhook, which is of the test. The result is never seen."""
        operator.updates = PushNotificationConfig(url=url, token='of-the-hook', result_store=Elsewhere(), timeout=1)
        return await say(text, text)

    await serve(say, card, get, push)


if __name__ == '__main__':
    asyncio.run(main())
