"""A CrewAI agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import json
import re
import sys
import time

from crewai import BaseLLM, Crew, Task


class Scripted(BaseLLM):
    def call(self, messages, *args, **kwargs):
        text = messages if isinstance(messages, str) else messages[-1]['content']
        asked = re.search('Current Task: (.*)', text)[1]
        if asked == 'wait':
            time.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        if 'AVAILABLE_A2A_AGENTS' not in text:
            return f'CrewAI did: {asked}'
        from used import operator

        return json.dumps({'is_a2a': True, 'message': asked, 'a2a_ids': [str(operator.endpoint)]})


llm = Scripted(model='scripted')

if __name__ == '__main__':
    from used import boss

    task = Task(description=sys.argv[1], expected_output='the answer', agent=boss)
    print(json.dumps({'answer': str(Crew(agents=[boss], tasks=[task]).kickoff())}))
