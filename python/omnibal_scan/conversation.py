# SPDX-License-Identifier: Apache-2.0
"""One row's conversation and its pictures' names, checked against each other."""
from omnibal_scan.problems import Rejected

PLACEHOLDER = "<image>"
ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant",
         "assistant": "assistant"}


def _turn(number, turn):
    if not isinstance(turn, dict):
        raise Rejected("malformed_turn", f"turn {number}: not an object")
    role = turn.get("from", turn.get("role"))
    if role not in ROLES:
        raise Rejected("unknown_role", f"turn {number}: unknown role {role!r}", value=str(role))
    value = turn.get("value", turn.get("content"))
    if value is None:
        raise Rejected("no_value", f"turn {number}: no value")
    if not isinstance(value, str):
        raise Rejected("malformed_turn", f"turn {number}: the value is not a text")
    return {"role": ROLES[role], "content": value}


def read_turns(row):
    """[{"role", "content"}], questions and answers in turn, a system text before them at most."""
    turns = row.get("conversations", row.get("messages"))
    if not isinstance(turns, list):
        raise Rejected("no_conversation", "the row has no list of conversations")
    if not turns:
        raise Rejected("no_turns", "the conversation is empty")
    messages = [_turn(number, turn) for number, turn in enumerate(turns)]
    first = 1 if messages[0]["role"] == "system" else 0
    roles = [message["role"] for message in messages]
    if "system" in roles[first:]:
        raise Rejected("late_system", f"turn {roles.index('system', first)}: system text after turn 0")
    if "assistant" not in roles:
        raise Rejected("no_answer", "the conversation has no answer")
    if roles[first] == "assistant":
        raise Rejected("begins_with_answer", "the conversation begins with an answer")
    for number in range(first + 1, len(roles)):
        if roles[number] == roles[number - 1]:
            kind = "questions" if roles[number] == "user" else "answers"
            raise Rejected(f"two_{kind}", f"turn {number}: two {kind} in a row")
    if roles[-1] == "user":
        raise Rejected("ends_with_question", "the conversation ends with a question")
    if not any(m["content"].strip() for m in messages if m["role"] == "assistant"):
        raise Rejected("no_supervised_tokens", "every answer is empty", 0, 1)
    return messages


def read_image_names(row):
    """`image` or `images`, one name or a list of names."""
    if row.get("image") is not None and row.get("images") is not None:
        raise Rejected("conflicting_keys", "the row has both image and images")
    names = row.get("image") if row.get("image") is not None else row.get("images")
    if names is None:
        return []
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise Rejected("malformed_images", "image names are not texts")
    return names


def match_placeholders(messages, num_images, add_missing):
    """Checks that each picture has its `<image>` in a question. With `add_missing` one picture
    without any gets one before the first question, as InternVL does."""
    in_answers = sum(m["content"].count(PLACEHOLDER) for m in messages if m["role"] != "user")
    if in_answers:
        raise Rejected("placeholder_in_answer", f"{in_answers} placeholders outside of questions, "
                       f"{num_images} images", in_answers, 0)
    questions = [m for m in messages if m["role"] == "user"]
    found = sum(m["content"].count(PLACEHOLDER) for m in questions)
    if add_missing and num_images == 1 and found == 0:
        questions[0]["content"] = f"{PLACEHOLDER}\n{questions[0]['content']}"
        found = 1
    if found != num_images:
        raise Rejected("placeholders_differ", f"{num_images} images, {found} placeholders", found,
                       num_images)
