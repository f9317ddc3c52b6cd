"""BeeAI over gRPC. With the ports of gRPC and of the card as arguments: the server of an agent. Otherwise a client."""
import asyncio
import sys

from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.adapters.a2a.serve.server import A2AServer, A2AServerConfig
from beeai_framework.memory import UnconstrainedMemory
from my_agent import agent


async def use():
    import httpx
    from a2a.client import A2ACardResolver
    from lines import serve

    async def say(url, text):
        """Calls the address that the card names for gRPC."""
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, url).get_agent_card()
        address = next(one.url for one in card.additional_interfaces if one.transport == 'GRPC')
        card.url, card.preferred_transport, card.additional_interfaces = address, 'GRPC', None
        reply = await A2AAgent(agent_card=card, memory=UnconstrainedMemory()).run(text)
        return {'answer': reply.last_message.text, 'address': address}

    await serve(say)


if ports := sys.argv[1:]:
    config = A2AServerConfig(host='127.0.0.1', port=int(ports[0]), protocol='grpc', agent_card_port=int(ports[1]))
    A2AServer(config=config).register(agent).serve()
else:
    asyncio.run(use())
