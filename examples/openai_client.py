"""Talk to a book with the `openai` client, as any chat program does.

In one terminal, serve a book:

    citewell serve examples/physical-ai

In another, ask it; a second question is a follow-up to the first:

    pip install openai
    python examples/openai_client.py "What is a ROS 2 node?" "How does it talk to others?"

A service that wants a key gets it by `--key cw_…`.
"""

import argparse

from openai import OpenAI


def main() -> None:
    """Ask the questions in one conversation, and print each answer as it comes."""
    options = _options()
    client = OpenAI(base_url=f"{options.url}/v1", api_key=options.key)
    book = options.book or client.models.list().data[0].id

    messages = []
    for question in options.questions:
        # The messages are the conversation: nothing else has to be kept.
        messages.append({"role": "user", "content": question})
        print(f"> {question}\n")
        answer = ""
        citations = []
        stream = client.chat.completions.create(model=book, messages=messages, stream=True)
        for chunk in stream:
            delta = chunk.choices[0].delta
            answer += delta.content or ""
            citations += getattr(delta, "annotations", None) or []
            print(delta.content or "", end="", flush=True)
        messages.append({"role": "assistant", "content": answer})
        print("\n")

        # Each citation says which words of the answer it proves, and where the book says so.
        for citation in citations:
            proof = citation["url_citation"]
            proven = answer[proof["start_index"] : proof["end_index"]]
            print(f"“{proven}”\n    {proof['title']}: {proof['url']}")
        print()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Talk to a book with the openai client.")
    parser.add_argument("questions", nargs="+")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where Citewell is served")
    parser.add_argument("--key", default="none", help="a key, if the service wants one")
    parser.add_argument("--book", help="one of /v1/models; by default the first")
    return parser.parse_args()


if __name__ == "__main__":
    main()
