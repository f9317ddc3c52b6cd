"""Answers JSON requests about an agent, one a line: {"op": NAME, ...}."""
import asyncio
import json
import sys
import traceback


async def both(ask, texts):
    answers = await asyncio.gather(*(ask(text, text) for text in texts))
    return {'answers': [given['answer'] for given in answers]}


async def serve(*operations):
    by_name = {operation.__name__: operation for operation in operations}
    by_name['both'] = lambda **given: both(by_name.get('tell', by_name['say']), **given)
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        try:
            answer = await by_name[request.pop('op')](**request)
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            answer = {'error': f'{type(error).__name__}: {error}'}
        # Some frameworks write the answer to stdout too, without a line end.
        print(f'\n{json.dumps(answer)}', flush=True)
