"""Python's `openai` against the service: models, completions with and without a stream, threads, typed errors."""

import os

import openai

address = os.environ["ADDRESS"]
client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)

names = [model.id for model in client.models.list()]
assert "validated" in names and "supervised" in names, names
assert client.models.retrieve("supervised").object == "model"


def ask(question, model="validated", **more):
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model=model, messages=messages, **more)


reply = ask("What is 12*7?", temperature=0)
assert "84" in reply.choices[0].message.content, reply
assert reply.choices[0].finish_reason == "stop" and reply.choices[0].message.tool_calls is None, reply
assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens, reply

chunks = list(ask("12*7은 얼마야?", stream=True, stream_options={"include_usage": True}))
said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert "84" in said, said
assert chunks[-1].usage is not None and chunks[-2].choices[0].finish_reason == "stop", chunks

for turn in (1, 2):
    reply = ask(f"What is {turn}+40?", metadata={"thread_id": "대화"})
    assert reply.id == f"chatcmpl-대화-{turn}" and str(turn + 40) in reply.choices[0].message.content, reply

asks = "Compare both offers, and ask me before you conclude."
waiting = ask(asks, model="supervised", metadata={"thread_id": "견적"}).choices[0].message.content
assert "POST /hitl/resume" in waiting and '"thread_id":"견적"' in waiting, waiting
chunks = ask(asks, model="supervised", metadata={"thread_id": "견적"}, stream=True)
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == waiting


def refused(kind, code, **request):
    try:
        ask("hi", **request)
    except kind as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"expected {kind.__name__}")


refused(openai.NotFoundError, "model_not_found", model="none")
refused(openai.BadRequestError, "wrong-input", n=2)
tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
refused(openai.BadRequestError, "wrong-input", tools=[tool])
print("openai: models, completions, streams, threads and errors")
