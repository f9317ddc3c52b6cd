"""A BeeAI agent with a scripted model. As a program: asks the agent of the recipe used.py."""
import asyncio
import html
import json

from beeai_framework.agents.requirement import RequirementAgent
from beeai_framework.backend import AssistantMessage, ChatModel, MessageToolCallContent, ToolMessage, UserMessage
from beeai_framework.backend.types import ChatModelOutput
from beeai_framework.memory import UnconstrainedMemory


class Scripted(ChatModel):
    model_id = 'scripted'
    provider_id = 'openai'
    tool_choice_support = {'none', 'single', 'required', 'auto'}

    async def _create(self, input, run):
        newest = input.messages[-1]
        said = [message for message in input.messages if isinstance(message, UserMessage)]
        # The agent puts a message into a template, which escapes it.
        asked = html.unescape(said[-1].text).removeprefix('Your task: ')
        if asked == 'wait':
            await asyncio.sleep(600)
        if asked == 'fail':
            raise RuntimeError('the model is away')
        tools = [tool for tool in input.tools or [] if tool.name != 'final_answer']
        if isinstance(newest, ToolMessage):
            name, given = 'final_answer', {'response': str(newest.content[0].result)}
        elif tools:
            name, given = tools[0].name, {'request': asked}
        else:
            files = [str(part) for part in said[-1].content]
            heard = [message.text for message in said[:-1]]
            answers = {'recall': f'heard: {heard}', 'read': f'read: {files}'}
            name, given = 'final_answer', {'response': 'BeeAI ' + answers.get(asked, f'did: {asked}')}
        call = MessageToolCallContent(id='c1', tool_name=name, args=json.dumps(given))
        return ChatModelOutput(output=[AssistantMessage(call)])

    async def _create_stream(self, input, run):
        yield await self._create(input, run)


llm = Scripted()
agent = RequirementAgent(llm=llm, name='beeai', description='Does what it is told.', memory=UnconstrainedMemory())


async def main():
    from a2a.types import FilePart, FileWithBytes, Message, Part, TextPart
    from lines import serve
    from used import boss, remote

    remotes = {}

    async def say(text, session):
        return {'answer': (await (await boss.clone()).run(text)).last_message.text}

    async def tell(text, session='direct', file=None):
        agent = remotes.setdefault(session, remote())
        parts = [Part(root=TextPart(text=text))]
        if file:
            parts.append(Part(root=FilePart(file=FileWithBytes(bytes=file, mime_type='text/plain'))))
        message = agent.convert_to_a2a_message(Message(role='user', parts=parts, message_id=f'{session}-{text}'))
        last = (await agent.run(message)).last_message
        data = [part.file['file_data'] for part in last.content if getattr(part, 'type', '') == 'file']
        return {'answer': last.text, 'files': data}

    async def stream(text):
        pieces = []
        agent = remote()
        agent.emitter.on('update', lambda data, event: pieces.append(data))
        answer = (await agent.run(text)).last_message.text
        return {'answer': answer, 'pieces': len(pieces)}

    async def card():
        agent = remote()
        await agent.check_agent_exists()
        return {'name': agent.agent_card.name}

    await serve(say, tell, stream, card)


if __name__ == '__main__':
    asyncio.run(main())
