"""Attachments: files are checked, then stored, and the model and memory get their addresses.

    .venv/bin/python examples/attachments.py
    .venv/bin/sluiceway graph examples/attachments.py

Runs offline: files are kept in a dict, and a scripted model answers.
"""

import hashlib

from sluiceway import Agent, Message, Processor
from sluiceway.memory import AttachmentUploader
from sluiceway.messages import FilePart
from sluiceway.models import ScriptedModel
from sluiceway.processors import InputContext

stored: dict[str, tuple[str, bytes]] = {}


class OnlyPictures(Processor):
    """Refuses files that are no pictures."""

    def process_input(self, ctx: InputContext) -> None:
        """Look at the files of the new messages."""
        for message in ctx.message_list.input:
            for part in (*message.parts, *message.attachments):
                if isinstance(part, FilePart) and not part.media_type.startswith("image/"):
                    ctx.abort(f"{part.filename or part.media_type} is no picture")


def upload(data: bytes, media_type: str, filename: str | None) -> str:
    """Keep a file, and say where it is."""
    url = f"https://files.example.org/{hashlib.sha256(data).hexdigest()[:8]}/{filename}"
    stored[url] = (media_type, data)
    return url


model = ScriptedModel(["A gate in a canal."])
agent = Agent("viewer", model=model, input_processors=[OnlyPictures(), AttachmentUploader(upload)])

if __name__ == "__main__":
    picture = FilePart(b"\x89PNG...", "image/png", filename="gate.png")
    print(agent.generate_sync(Message("What is this?", attachments=[picture])).text)
    print("stored:", list(stored))
    document = FilePart(b"%PDF...", "application/pdf", filename="letter.pdf")
    result = agent.generate_sync(Message("And this?", attachments=[document]))
    print("refused:", result.tripwire.reason if result.tripwire else "no")
