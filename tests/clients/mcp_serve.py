"""The official client of MCP against `planwright mcp serve` and `/mcp`, in the newest protocol and in the one with
sessions: tools, schemas (the client checks each result), threads, forms, answers, progress and errors."""

import asyncio
import os
import tempfile

from mcp import Client, MCPError, StdioServerParameters, types

ASKS = "Compare both offers, and ask me before you conclude."
store = tempfile.TemporaryDirectory()
stdio = StdioServerParameters(
    command=os.environ["PROGRAM"], args=["mcp", "serve", "--offline", "--store", f"{store.name}/threads.db"]
)
http = f"{os.environ['ADDRESS']}/mcp"


def text(result):
    return result.content[0].text


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"validated", "supervised", "answer"} <= listed.keys(), listed.keys()
    assert listed["validated"].annotations.read_only_hint and not listed["answer"].annotations.read_only_hint
    assert all(tool.description and tool.input_schema and tool.output_schema for tool in listed.values())
    steps = []

    async def hear(progress, _total, message):
        steps.append((progress, message))

    # The client checks structured content by the output schema.
    first = await client.call_tool("validated", {"question": "12*7은 얼마야?"}, progress_callback=hear)
    assert "84" in text(first) and first.structured_content["status"] == "completed", first
    said = [message for _, message in steps]
    assert said[0] == "PLAN" and "tool_selected: calc" in said and said[-1] == "DONE", said
    assert [count for count, _ in steps] == sorted({count for count, _ in steps}), steps
    thread = first.structured_content["thread_id"]
    assert first.content[1].text == f"thread_id: {thread}", first
    second = await client.call_tool("validated", {"question": "What is 40+2?", "thread_id": thread})
    assert second.structured_content["turn"] == 2 and "42" in text(second), second
    many = [client.call_tool("validated", {"question": f"What is {n}*100?"}) for n in range(2, 10)]
    for n, result in zip(range(2, 10), await asyncio.gather(*many)):
        assert f"{n}00" in text(result), result


async def answers(client, name):
    """Without forms the question comes back, and `answer` goes on."""
    waiting = await client.call_tool("supervised", {"question": ASKS, "thread_id": name})
    told = waiting.structured_content
    assert told["status"] == "waiting_human" and told["question"] and not waiting.is_error, told
    assert told["answers"] == ["response", "reject", "edit"] and told["thread_id"] in text(waiting), waiting
    wrong = await client.call_tool("answer", {"thread_id": name, "response": "네", "token": "0" * 32})
    assert wrong.is_error, wrong
    said = {"thread_id": name, "token": told["token"], "response": "네, 계속하세요", "approve": False, "edit": None}
    done = (await client.call_tool("answer", said)).structured_content
    assert done["status"] == "completed" and done["turn"] == 1 and done["question"] is None, done
    again = await client.call_tool("answer", said)
    assert again.is_error and "answered" in text(again), again


async def refused(client):
    for arguments, says in [
        ({"question": " "}, "$.question: expected a question"),
        ({"question": 7}, "$.question: invalid type"),
        ({"question": "x", "data": 1}, "unknown field"),
        ({"question": "x", "thread_id": "a\nb"}, "$.thread_id"),
    ]:
        result = await client.call_tool("validated", arguments)
        assert result.is_error and says in text(result), result
    for arguments, says in [
        ({"thread_id": "none", "response": "x"}, "there is no thread none"),
        ({"thread_id": "none"}, "stop, resume, found none"),
        ({"response": "x"}, "$.thread_id"),
    ]:
        result = await client.call_tool("answer", arguments)
        assert result.is_error and says in text(result), result
    try:
        await client.call_tool("없음", {"question": "x"})
    except MCPError as error:
        assert error.code == -32602 and "no agent is called" in error.message, error
    else:
        raise AssertionError("expected an error of the protocol")


async def forms(server, mode, name):
    """A client that shows forms is asked, and what its user says goes to the run."""
    asked = []

    def user(action, content=None):
        async def show(_context, params):
            asked.append(params)
            return types.ElicitResult(action=action, content=content)

        return show

    async def ask(thread, show):
        async with Client(server, mode=mode, elicitation_callback=show) as client:
            result = await client.call_tool("supervised", {"question": ASKS, "thread_id": thread})
            return result.structured_content

    done = await ask(f"{name} 하나", user("accept", {"response": "예"}))
    assert done["status"] == "completed" and len(asked) == 1, (done, asked)
    form = asked[0].requested_schema
    assert list(form["properties"]) == ["response"] and form["required"] == ["response"], form
    assert "Shall I go on" in asked[0].message, asked[0]
    # Who closes the form has said nothing: the run waits on.
    waits = await ask(f"{name} 둘", user("cancel"))
    assert waits["status"] == "waiting_human" and waits["token"], waits
    # Asked again, it is asked again; to decline is to reject.
    declined = await ask(f"{name} 둘", user("decline"))
    assert declined["status"] != "waiting_human", declined


async def main():
    for mode in ("legacy", "auto"):
        for kind, server in (("stdio", stdio), ("http", http)):
            async with Client(server, mode=mode) as client:
                expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
                assert client.protocol_version == expected, client.protocol_version
                assert client.server_info.name == "planwright", client.server_info
                await tools(client)
                await answers(client, f"견적 {kind} {mode}")
                await refused(client)
            await forms(server, mode, f"양식 {kind} {mode}")


asyncio.run(main())
print("mcp: tools, schemas, threads, forms, answers, progress and errors, by stdio and HTTP, in both protocols")
