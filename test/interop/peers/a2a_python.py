"""The official a2a-sdk as a client and as a server: one JSON request a line on stdin, one JSON answer a line on stdout."""

import asyncio
import base64
import json
import sys
import uuid
from importlib import metadata

import grpc
import httpx
import uvicorn
from a2a.client import ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.card_resolver import A2ACardResolver, parse_agent_card
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers.proto_helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as a2a
from a2a.types import a2a_pb2_grpc
from a2a.utils.signing import create_signature_verifier
from jwt import PyJWK
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

# The agent

seen = []
files = []


class Orders(AgentExecutor):
    """Does what the first word of a message says."""

    async def execute(self, context, event_queue):
        if not context.current_task:
            await event_queue.enqueue_event(
                a2a.Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=a2a.TaskStatus(state=a2a.TASK_STATE_SUBMITTED),
                    history=[context.message],
                )
            )
        seen.append(context.get_user_input())
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        order, _, rest = context.get_user_input().strip().partition(' ')
        if order == 'ask':
            return await task.requires_input(task.new_agent_message([new_text_part('what shall I say?')]))
        if order == 'wait':
            await asyncio.sleep(600)
        if order == 'fail':
            return await task.failed(task.new_agent_message([new_text_part('the disk is full')]))
        if order == 'refuse':
            return await task.reject(task.new_agent_message([new_text_part('not my work')]))
        if order == 'chunks':
            for at in range(int(rest)):
                parts = [new_text_part(f'<{at}>')]
                await task.add_artifact(parts, artifact_id='answer', append=at > 0)
        elif order == 'echo':
            sent = [part for part in context.message.parts if part.WhichOneof('content') == 'raw']
            files.extend(part.raw.decode() for part in sent)
            await task.add_artifact(sent)
        else:
            await task.add_artifact([new_text_part(rest)], artifact_id='answer')
        return await task.complete()

    async def cancel(self, context, event_queue):
        seen.append('canceled')
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def only_with(token):
    """Answers 401 to all but the card without the token."""

    class Check:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            sent = dict(scope.get('headers') or {}).get(b'authorization', b'').decode()
            is_open = scope['type'] != 'http' or '/.well-known/' in scope['path'] or sent == f'Bearer {token}'
            await (self.app if is_open else PlainTextResponse('unknown caller', 401))(scope, receive, send)

    return Check


class OnlyWith(grpc.aio.ServerInterceptor):
    """The same over gRPC."""

    def __init__(self, token):
        self.token = token

    async def intercept_service(self, continuation, details):
        handler = await continuation(details)
        if ('authorization', f'Bearer {self.token}') in [tuple(pair) for pair in details.invocation_metadata]:
            return handler

        async def refuse(request, context):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, 'unknown caller')

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(refuse, handler.request_deserializer, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(refuse, handler.request_deserializer, handler.response_serializer)


async def serve(transport, version, token=None):
    rpc = grpc.aio.server(interceptors=[OnlyWith(token)] if token else [])
    rpc_port = rpc.add_insecure_port('127.0.0.1:0')
    server = uvicorn.Server(uvicorn.Config(Starlette(), host='127.0.0.1', port=0, log_level='error'))
    sockets = [server.config.bind_socket()]
    origin = f'http://127.0.0.1:{sockets[0].getsockname()[1]}'
    address = {'JSONRPC': f'{origin}/rpc', 'HTTP+JSON': origin, 'GRPC': f'127.0.0.1:{rpc_port}'}[transport]
    card = a2a.AgentCard(
        name='Orders',
        description='Follows orders.',
        version='1',
        supported_interfaces=[a2a.AgentInterface(url=address, protocol_binding=transport, protocol_version=version)],
        capabilities=a2a.AgentCapabilities(streaming=True),
        default_input_modes=['text/plain', 'image/png'],
        default_output_modes=['text/plain', 'image/png'],
        skills=[a2a.AgentSkill(id='orders', name='Orders', description='Follows orders.', tags=['test'])],
    )
    if token:
        card.security_schemes['bearer'].http_auth_security_scheme.scheme = 'bearer'
        card.security_requirements.append(a2a.SecurityRequirement(schemes={'bearer': a2a.StringList()}))
    handler = DefaultRequestHandler(Orders(), InMemoryTaskStore(), card)
    is_old = version == '0.3'
    routes = create_agent_card_routes(card)
    if transport == 'JSONRPC':
        routes += create_jsonrpc_routes(handler, '/rpc', enable_v0_3_compat=is_old)
    if transport == 'HTTP+JSON':
        routes += create_rest_routes(handler, enable_v0_3_compat=is_old)
    if transport == 'GRPC' and is_old:
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), rpc)
    elif transport == 'GRPC':
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    server.config.app = Starlette(routes=routes, middleware=[Middleware(only_with(token))] if token else [])
    await rpc.start()
    kept.append((rpc, asyncio.create_task(server.serve(sockets))))
    return {'url': origin}


# The client


class Token(CredentialService):
    def __init__(self, token):
        self.token = token

    async def get_credentials(self, security_scheme_name, context):
        return self.token


kept = []
client = None


async def connect(url, transport, version, token=None):
    """Takes the one interface of the card that the test is about."""
    global client
    http = httpx.AsyncClient(timeout=20)
    card = await A2ACardResolver(http, url).get_agent_card()
    wanted = [
        one
        for one in card.supported_interfaces
        if one.protocol_binding == transport and one.protocol_version.startswith(version)
    ]
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(wanted)
    config = ClientConfig(
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[transport],
    )
    interceptors = [AuthInterceptor(Token(token))] if token else []
    client = {
        is_streaming: ClientFactory(
            ClientConfig(**{**vars(config), 'streaming': is_streaming})
        ).create(card, interceptors)
        for is_streaming in (True, False)
    }
    return {'name': card.name, 'skills': [skill.id for skill in card.skills]}


def new_request(text, taskId=None, file=None, wait=True):
    parts = [a2a.Part(text=text)]
    if file:
        raw = base64.b64decode(file['base64'])
        parts.append(a2a.Part(raw=raw, filename=file['name'], media_type=file['mediaType']))
    message = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=parts, task_id=taskId)
    configuration = a2a.SendMessageConfiguration(return_immediately=not wait)
    return a2a.SendMessageRequest(message=message, configuration=configuration)


def view(task):
    parts = [part for artifact in task.artifacts for part in artifact.parts]
    said = [part.text for part in parts if part.text]
    return {
        'taskId': task.id,
        'state': a2a.TaskState.Name(task.status.state).removeprefix('TASK_STATE_').lower().replace('_', '-'),
        'text': ''.join(said) or ''.join(part.text for part in task.status.message.parts),
        'files': [
            {'name': part.filename, 'mediaType': part.media_type, 'base64': base64.b64encode(part.raw).decode()}
            for part in parts
            if part.raw
        ],
    }


async def send(**given):
    async for event in client[False].send_message(new_request(**given)):
        return view(event.task)


async def gather(stream, cancel_first=False):
    """Reads a stream to its end, into a task."""
    task, events = a2a.Task(), 0
    async for event in stream:
        events += 1
        kind = event.WhichOneof('payload')
        if kind == 'task':
            task = event.task
        elif kind == 'status_update':
            task.id = event.status_update.task_id
            task.status.CopyFrom(event.status_update.status)
        elif kind == 'artifact_update':
            update = event.artifact_update
            if not update.append:
                del task.artifacts[:]
            task.artifacts.append(update.artifact)
        if cancel_first and events == 1:
            await client[True].cancel_task(a2a.CancelTaskRequest(id=task.id))
    return {**view(task), 'events': events}


async def stream(**given):
    return await gather(client[True].send_message(new_request(**given)))


async def follow(taskId):
    """Subscribes, cancels the task at the first event, and reads to the end."""
    return await gather(client[True].subscribe(a2a.SubscribeToTaskRequest(id=taskId)), cancel_first=True)


async def get(taskId):
    return view(await client[True].get_task(a2a.GetTaskRequest(id=taskId)))


async def cancel(taskId):
    return view(await client[True].cancel_task(a2a.CancelTaskRequest(id=taskId)))


async def list_tasks():
    found = await client[True].list_tasks(a2a.ListTasksRequest(page_size=50))
    return {'ids': [task.id for task in found.tasks]}


async def extended():
    return {'name': (await client[True].get_extended_agent_card(a2a.GetExtendedAgentCardRequest())).name}


async def push(taskId, url, token):
    """Creates a config and reads it back."""
    at = client[True]
    made = await at.create_task_push_notification_config(
        a2a.TaskPushNotificationConfig(task_id=taskId, id='hook', url=url, token=token)
    )
    read = await at.get_task_push_notification_config(
        a2a.GetTaskPushNotificationConfigRequest(task_id=taskId, id=made.id)
    )
    return {'url': read.url}


async def pushes(taskId):
    listed = await client[True].list_task_push_notification_configs(
        a2a.ListTaskPushNotificationConfigsRequest(task_id=taskId)
    )
    return {'ids': [config.id for config in listed.configs]}


async def unpush(taskId):
    await client[True].delete_task_push_notification_config(
        a2a.DeleteTaskPushNotificationConfigRequest(task_id=taskId, id='hook')
    )
    return {}


async def verify(card, jwks):
    """Verifies a card as it was served, by a set of keys."""
    keys = {one['kid']: PyJWK(one) for one in jwks['keys']}
    create_signature_verifier(lambda kid, jku: keys[kid], ['EdDSA'])(parse_agent_card(card))
    return {}


async def about():
    return {'version': metadata.version('a2a-sdk')}


async def seen_orders():
    return {'seen': seen}


async def last_file():
    return {'text': files[-1]}


OPERATIONS = [about, serve, connect, send, stream, follow, get, cancel, extended, push, pushes, unpush, verify]
BY_NAME = {operation.__name__: operation for operation in OPERATIONS} | {'list': list_tasks, 'seen': seen_orders, 'read': last_file}


async def main():
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        try:
            answer = await BY_NAME[request.pop('op')](**request)
        except Exception as error:  # noqa: BLE001
            answer = {'error': type(error).__name__, 'message': str(error)}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
