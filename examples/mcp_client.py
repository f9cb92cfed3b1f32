"""Use a book as an agent does: through the tools of its MCP server.

Over HTTP, with a service that runs:

    citewell serve examples/physical-ai
    python examples/mcp_client.py "What is a ROS 2 node?"

Or on standard input and output, where the client starts the server itself:

    citewell ingest examples/physical-ai
    python examples/mcp_client.py --stdio "What is a ROS 2 node?"

Needs `pip install mcp`. A service that wants a key gets it by `--key cw_…`.
"""

import argparse
import asyncio
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    """List the tools, look into the book, and ask it."""
    options = _options()
    if options.stdio:
        # The environment is passed on because Citewell's settings are in it.
        server = StdioServerParameters(command="citewell", args=["mcp"], env=dict(os.environ))
        async with Client(server) as agent:
            await use(agent, options.question)
        return
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        server = streamable_http_client(f"{options.url}/mcp", http_client=http)
        async with Client(server) as agent:
            await use(agent, options.question)


async def use(agent: Client, question: str) -> None:
    """Call each tool once."""
    tools = await agent.list_tools()
    print("Tools:", ", ".join(tool.name for tool in tools.tools), end="\n\n")

    contents = (await agent.call_tool("table_of_contents", {})).structured_content
    print(f"“{contents['title']}” begins with:")
    for entry in contents["contents"][:3]:
        print(f"  {entry['title']}")

    found = (await agent.call_tool("search_textbook", {"query": question})).structured_content
    best = found["passages"][0]
    print(f"\nNearest to “{question}” is {best['chapter']} › {best['section']}.")

    section = await agent.call_tool("read_section", {"section": best["section"]})
    print(f"That section has {section.structured_content['total']} passages.\n")

    reply = await agent.call_tool("ask", {"question": question})
    print(reply.content[0].text)
    for citation in reply.structured_content["citations"]:
        print(f"\n[{citation['number']}] “{citation['quote']}”")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Use a book through its MCP server.")
    parser.add_argument("question")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where Citewell is served")
    parser.add_argument("--key", default="", help="a key, if the service wants one")
    parser.add_argument(
        "--stdio", action="store_true", help="start `citewell mcp` and talk to that"
    )
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
