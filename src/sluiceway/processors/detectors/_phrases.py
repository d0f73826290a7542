"""The phrases of prompt injection, in English.

Each entry: its type, the name of the rule, how sure a match is, and the pattern. Words may be
parted by anything that is no letter (`~` in the patterns below); `{0,n}` words may stand
between, so that every pattern is bounded and its search linear.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ENGLISH", "Phrase"]


class Phrase(NamedTuple):
    """One rule of the offline detector.

    Args:
        type: One of the detection types, such as `jailbreak`.
        name: The rule, for reports.
        score: How sure a match is, from 0 to 1.
        pattern: `~` stands for what parts two words, `<n>` for up to n words between.
        stems: Every match contains one of these, in lower case; `()` for no such thing.
    """

    type: str
    name: str
    score: float
    pattern: str
    stems: tuple[str, ...] = ()


_IGNORE = (
    r"\b(?:ignore|disregard|forget(?:~about)?|override|bypass|discard|neglect|set~aside|skip"
    r"|stop~(?:following|obeying)"
    r"|do(?:~not|n.?t)~(?:follow|obey|listen~to|adhere~to)|pay~no~attention~to|abandon|dismiss)"
)
_RULES = (
    r"(?:instructions?|directions?|directives?|prompts?|rules?|guidelines?|commands?"
    r"|constraints?|programming|restrictions?"
    r"|guardrails?|training|system~messages?)\b"
)
_EARLIER = (
    r"(?:previous(?:ly~given)?|prior|above|earlier|preceding|foregoing|former|existing|original|initial|current"
    r"|system|old|past|safety)"
)
_SHOW = (
    r"\b(?:print|reveal|show|tell|repeat|output|display|leak|expose|give|share|write(?:~out)?"
    r"|dump|disclose|return|provide|recite"
    r"|echo|paste|quote|translate|summari[sz]e|spell~out|what(?:~is|~are|~were|~was|.?s))"
)
_LIMITS = (
    r"(?:ethical|ethics|moral(?:ity)?|safety|content|legal|policy|usage|security|openai|anthropic)?~?"
    r"(?:restrictions?|guidelines?|filters?|filtering|limit(?:ation)?s?|constraints?"
    r"|guardrails?|polic(?:y|ies)|rules|protocols?|safeguards?|censorship)\b"
)
_AI = r"(?:ai|a\.i\.|assistant|model|chatbot|bot|persona|character|agent|llm|gpt)\b"
_SECRETS = (
    r"(?:api~?keys?|passwords?|credentials|secrets?(?:~keys?)?|access~tokens?|auth"
    r"(?:entication)?~tokens?|tokens|private~keys?"
    r"|env(?:ironment)?~var(?:iable)?s?|connection~strings?|customer~(?:data|records|list)"
    r"|user~data|personal~data"
    r"|(?:chat|conversation|message)~history|(?:whole|entire|full|previous)~conversation"
    r"|training~data|system~prompt)\b"
)

_RULE_STEMS = (
    "instruct", "direct", "prompt", "rule", "guideline", "command", "constraint", "programming", "restrict", "guardrail",
    "training", "system",
)  # fmt: skip
_SECRET_STEMS = (
    "key", "password", "credential", "secret", "token", "env", "connection", "data", "history", "conversation",
    "customer", "prompt",
)  # fmt: skip

ENGLISH: tuple[Phrase, ...] = (
    Phrase(
        "injection",
        "ignore-instructions",
        0.9,
        rf"{_IGNORE}~(?:(?:all|any|every|each|the|of|your|my|these|those|and|other|such)"
        rf"~){{0,4}}{_EARLIER}~<2>{_RULES}",
        _RULE_STEMS,
    ),
    Phrase(
        "injection",
        "ignore-own-rules",
        0.85,
        rf"{_IGNORE}~(?:all~(?:of~)?)?(?:your|every|any~and~all|all~(?:the|of~the))~(?:(?:own"
        rf"|developer.?s?|{_LIMITS})~)?{_RULES}",
        _RULE_STEMS,
    ),
    Phrase(
        "injection",
        "ignore-instructions-given",
        0.85,
        rf"{_IGNORE}~(?:(?:all|any|every|each|the|of|your|my|these|those)~){{1,3}}{_RULES}~(?:that"
        rf"~)?(?:you~(?:were|have~been|got|received|had)|(?:were|was|are)~given|given~to~you|above"
        rf"|before~this|so~far)",
        ("instruct", "direct", "prompt", "rule", "guideline", "command", "constraint", "restrict"),
    ),
    Phrase(
        "injection",
        "forget-everything",
        0.85,
        rf"{_IGNORE}~(?:everything|anything|all|what(?:ever)?)~(?:that~)?(?:(?:you|u)~(?:(?:were"
        rf"|have~been|ve~been|had~been)~(?:told|taught|instructed|trained|given|programmed)|know~"
        rf"(?:about~)?(?:your~rules|being))|(?:written~|said~|stated~)?above(?:~this~line)?\b"
        rf"|before~this~(?:line|message|point|prompt)|(?:your~)?(?:developers?|creators?)~(?:told"
        rf"|said))",
        (
            "told",
            "taught",
            "instructed",
            "trained",
            "given",
            "programmed",
            "know",
            "above",
            "before",
            "developer",
            "creator",
        ),
    ),
    Phrase(
        "injection",
        "new-instructions",
        0.8,
        r"\b(?:here~are~)?your~(?:new|real|actual|true|only|updated)~(?:instructions?|task"
        r"|objective|orders?|goal|mission|directives?|role)~(?:is|are|begins?~here|follows?)\b",
        ("your",),
    ),
    Phrase(
        "injection",
        "note-to-model",
        0.8,
        r"\b(?:attention|note|important|message|instructions?|reminder)~(?:to|for)~(?:the~|all~"
        r"|any~)?(?:ai|llms?|language~models?|chatbots?|(?:ai~)?(?:assistants?|agents?|models?)~"
        r"(?:reading|processing|summari[sz]ing|that~reads?))\b",
        ("ai", "llm", "model", "chatbot", "assistant", "agent"),
    ),
    Phrase(
        "injection",
        "when-the-model-reads",
        0.75,
        r"\bif~you~are~(?:an?~)?(?:ai|llm|language~model|large~language~model|chatbot|ai~assistant"
        r"|ai~agent)\b<6>\b(?:must|should|please|then|reply|respond|say|include|recommend|ignore"
        r"|do~not)\b",
        ("if you",),
    ),
    Phrase(
        "injection",
        "swapped-task",
        0.8,
        rf"{_IGNORE}~(?:the|your|this|that|his|her)~<2>(?:task|request|question|classification|summary|translation|assignment"
        r"|job)\b<2>\b(?:output|print|return|reply|answer|respond|say|write|reveal|state|emit)\b",
        ("task", "request", "question", "classification", "summary", "translation", "assignment", "job"),
    ),
    Phrase(
        "system-override",
        "closed-delimiter",
        0.75,
        r"</(?:document|data|context|text|user_?input|untrusted\w{0,12}|input|content)>[\s\"'}\])]{0,6}<(?:instruction|instructions|system"
        r"|command|task|admin)>|={2,}[ \t]?end[ _](?:of[ _])?(?:the[ _])?(?:untrusted|user|document|external|context|input)[ _]?\w{0,8}"
        r"[ \t]?={2,}",
        ("<", "end"),
    ),
    Phrase(
        "system-override",
        "forged-role-marker",
        0.85,
        r"<\|(?:im_start|im_end|system|assistant|user|end(?:oftext|_of_turn)?|eot_id"
        r"|start_header_id|begin_of_text)\|>|<</?SYS>>|\[/?INST\]|<start_of_turn>|"
        r"(?<![\w.-])</?system(?:-prompt|_prompt|-message|-reminder)?>(?!\w)",
    ),
    Phrase(
        "system-override",
        "forged-system-message",
        0.8,
        r"(?:^|\n)[ \t]{0,8}(?:#{1,6}[ \t]{0,3}|\[|\*\*|[\"'`]{1,3}|---+[ \t]{0,3})?system(?:[ _-]"
        r"(?:prompt|message|override|instructions?|update|notice|alert))?(?:\]"
        r"|\*\*)?[ \t]{0,3}:[ \t\n*]{0,4}(?:you~(?:are|must|will|shall|should|can)\b|new~"
        r"(?:instructions?|rules?)|ignore\b|disregard\b|override\b|the~(?:user|assistant)\b|from"
        r"~now~on\b|(?:all~)?(?:safety|previous|prior)\b|enable\b|disable\b|reveal\b|print\b)",
        ("system",),
    ),
    Phrase(
        "system-override",
        "system-override",
        0.8,
        r"(?:\[|#{1,4} ?|\*\*|\b)(?:system|admin(?:istrator)?|root|developer|security|safety"
        r"|policy)[ _-]override(?:\]|\*\*|:|!|~(?:code|mode|activated|engaged|enabled|accepted"
        r"|authori[sz]ed))",
        ("override",),
    ),
    Phrase(
        "system-override",
        "end-of-prompt",
        0.8,
        r"(?:\[|<|-{2,}|={2,}|#{2,})[ \t]{0,3}(?:end|start|begin(?:ning)?)~(?:of~)?(?:the~)?"
        r"(?:system|user|new|original|hidden|admin)~(?:prompt|instructions?|message|input|query)",
        ("prompt", "instruction", "message", "input", "query"),
    ),
    Phrase(
        "system-override",
        "override-safety",
        0.85,
        r"\b(?:override|disable|deactivate|turn~off|switch~off|circumvent|bypass|remove|suspend)~"
        r"(?:(?:all|any|the|your|of|own|internal|built~in)~){0,3}(?:safety|security|content"
        r"|moderation|ethical|ethics|system)~(?:and~\w{1,12}~)?(?:prompt|settings?|protocols?"
        r"|filters?|filtering|instructions?|polic(?:y|ies)|mechanisms?|measures?|features?|checks?"
        r"|guidelines?|restrictions?|controls?|guardrails?|safeguards?|layers?)~(?:and|now|for~"
        r"(?:this|the~rest)|immediately|completely|so~(?:that|you)|then|before~(?:answering"
        r"|replying|you))",
        ("safety", "security", "content", "moderation", "ethic", "system"),
    ),
    Phrase(
        "system-override",
        "override-own-safety",
        0.85,
        rf"\b(?:override|disable|deactivate|turn~off|switch~off|circumvent|bypass|ignore|drop"
        rf"|suspend|lift)~(?:all~)?(?:of~)?your~<2>{_LIMITS}",
        ("your",),
    ),
    Phrase(
        "system-override",
        "special-mode",
        0.8,
        r"\b(?:you~(?:are|re|have)~(?:now~)?(?:been~(?:put|placed|switched)~)?(?:in|into|entering"
        r"|running~in)|(?:respond|answer|act|operate|work|reply)~(?:only~)?in|(?:you~(?:will|must"
        r"|should)~)?(?:enter|switch~to|boot~into))~(?:an?~|the~)?(?:developer|debug|god|sudo|root"
        r"|admin(?:istrator)?|maintenance|diagnostic|unrestricted|jailbreak|opposite|evil|dan)"
        r"~mode\b",
        ("mode",),
    ),
    Phrase(
        "system-override",
        "claimed-authority",
        0.75,
        r"\b(?:i~am|i.?m|this~is|speaking~as)~(?:your|the|an?)~(?:(?:lead|system|openai|anthropic"
        r"|google|authori[sz]ed|original)~){0,2}(?:developer|creator|administrator|admin"
        r"|programmer|engineer|owner)s?\b[^.\n]{0,60}?\b(?:reveal|override|disable|ignore|bypass"
        r"|debug~mode|unlock|grant~me|full~access|system~prompt)\b",
        ("reveal", "override", "disable", "ignore", "bypass", "debug", "unlock", "grant", "access", "prompt"),
    ),
    Phrase(
        "jailbreak",
        "do-anything-now",
        0.85,
        r"\bdo~anything~now\b|\bDAN~(?:mode|prompt|persona)\b|\b(?:act|respond|answer|behave)~as~"
        r"(?:a~)?DAN\b|\byou~are~(?:now~)?DAN\b",
        ("dan", "anything"),
    ),
    Phrase(
        "jailbreak",
        "jailbreak-yourself",
        0.8,
        r"\bjail~?break~(?:yourself|mode|prompt~(?:activated|enabled|below)|activated|enabled)\b"
        r"|\byou~(?:are|have~been)~(?:now~)?jail~?broken\b",
        ("break", "broken"),
    ),
    Phrase(
        "jailbreak",
        "without-limits",
        0.8,
        rf"\b(?:answer|respond|reply|act|operate|speak|write|help|assist|behave|talk|generate"
        rf"|continue|comply)\b<5>\b(?:without|free~(?:of|from)|with~no|unbound~by|not~bound~by)~(?:"
        rf"(?:any|all|your|the|of|usual|normal|its)~){{0,3}}<1>{_LIMITS}",
        ("without", "free", "with no", "bound"),
    ),
    Phrase(
        "jailbreak",
        "no-limits",
        0.8,
        rf"\byou~(?:(?:now|can|will|must|should)~){{0,2}}(?:have~(?:now~)?no(?:~more)?|are~(?:now"
        rf"~)?(?:not~(?:bound|limited|restricted|constrained)~by|free~(?:of|from)|no~longer~"
        rf"(?:bound|limited|restricted|constrained)~by)|do~not~have|don.?t~have)~(?:(?:any|all|your"
        rf"|the|of)~){{0,3}}<1>{_LIMITS}",
        ("you",),
    ),
    Phrase(
        "jailbreak",
        "unrestricted-persona",
        0.8,
        rf"\b(?:an?|the|as|called|named|be|become)~<2>(?:unrestricted|unfiltered|uncensored|amoral"
        rf"|evil|rogue|lawless|unethical|malicious|unaligned|jailbroken)~<1>{_AI}",
        (
            "unrestrict",
            "unfilter",
            "uncensor",
            "amoral",
            "evil",
            "rogue",
            "lawless",
            "unethical",
            "malicious",
            "unaligned",
            "jailbroken",
        ),
    ),
    Phrase(
        "jailbreak",
        "never-refuse",
        0.8,
        r"\byou~(?:must|will|shall|should|can|are~to)~(?:never|not|always~comply~and~never)~"
        r"(?:refuse|decline|reject|say~(?:no|you~can.?t|i~can.?t|i~cannot|that~you~can.?t)|warn"
        r"|moralize)\b",
        ("you",),
    ),
    Phrase(
        "role-manipulation",
        "no-longer-assistant",
        0.85,
        rf"\byou~are~(?:no~longer|not)~(?:an?~|the~)?(?:<2>{_AI}|chatgpt|claude|gemini|bound"
        rf"|language~model|customer~(?:service|support))",
        ("you are",),
    ),
    Phrase(
        "role-manipulation",
        "you-are-now",
        0.8,
        rf"\b(?:you~are|you.?re|u~r)~(?:now|henceforth)~(?:(?:going~to~)?(?:be|act(?:ing)?~as"
        rf"|playing|called|known~as)~)?<3>(?:{_AI}|hacker|terminal|root|admin(?:istrator)?"
        rf"|unrestricted|free~from|DAN\b|my~(?:slave|servant|girlfriend|grandmother))",
        ("now", "henceforth"),
    ),
    Phrase(
        "role-manipulation",
        "from-now-on",
        0.8,
        r"\b(?:from~(?:now|this~(?:point|moment|message))~(?:on(?:wards?)?|forward)|henceforth|for"
        r"~the~rest~of~this~(?:conversation|chat))~(?:you~)(?:(?:will|must|shall|should|are~going"
        r"~to|are~to|only|always|have~to)~){0,3}(?:act|behave|obey|pretend|role~?play|ignore|comply"
        r"|do~whatever|follow~(?:only|my)|(?:respond|answer|speak|talk)~(?:only~)?(?:as|like|to~me|without))\b",
        ("from", "henceforth", "rest of"),
    ),
    Phrase(
        "role-manipulation",
        "act-as-unbound",
        0.8,
        r"\b(?:act|behave|respond|pretend|role~?play|simulate|imagine|speak|answer)~(?:as|like|to"
        r"~be|being|that|you~are|you.?re)~(?:if~|though~)?(?:you~(?:are|were|have)~)?<3>"
        r"(?:unrestricted|unfiltered|uncensored|evil|no~(?:rules|restrictions|limits|limitations"
        r"|filters?|ethics|morals|guidelines)|without~(?:rules|restrictions|limits|limitations"
        r"|filters?|ethics|morals|guidelines)|(?:not~(?:an?~)?(?:ai\b|bound|restricted|limited))"
        r"|can~do~anything|(?:my|the)~system~administrator|has~no~(?:rules|restrictions|limits))",
        ("act", "behave", "respond", "pretend", "play", "simulate", "imagine", "speak", "answer"),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-own-prompt",
        0.85,
        rf"{_SHOW}~(?:(?:me|us|out|back|all|of|full|verbatim|the|exactly|to|complete|entire|exact"
        rf"|contents?|text|word~for~word)~){{0,5}}your~(?:(?:own|full|complete|entire|exact|first"
        rf"|very|previous|above)~){{0,2}}(?:(?:system|initial|hidden|secret|internal|developer"
        rf"|original|confidential|base|core|starting|pre)~?)(?:prompts?|instructions?|messages?"
        rf"|rules|guidelines?|directives?|configuration|settings)\b",
        ("your",),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-system-prompt",
        0.8,
        r"\b(?:print|reveal|show|tell|repeat|output|display|leak|expose|give|dump|disclose|return"
        r"|recite|echo|paste)~(?:(?:me|us|out|back|all|of|full|verbatim|exactly|complete|entire"
        r"|exact|contents?|text)~){0,4}(?:the|this|any|its)~(?:(?:full|complete|entire|exact"
        r"|hidden|secret|contents?|text|of|above|original)~){0,3}(?:(?:system|initial|hidden"
        r"|secret|developer)~(?:prompts?|instructions?))\b(?!~(?:field|box|setting|section|tab"
        r"|parameter|argument|in~the~(?:docs|editor|settings)))",
        ("prompt", "instruct"),
    ),
    Phrase(
        "data-exfiltration",
        "repeat-above",
        0.8,
        r"\b(?:repeat|print|output|write|copy|echo|recite|reproduce|translate)~(?:(?:back|out|me"
        r"|all|of)~){0,2}(?:everything|all|(?:all~)?the~(?:words?|text|sentences?|lines?|content"
        r"|instructions?))~(?:(?:that~(?:is|was|came|comes)|written|you~(?:see|received)|in~the"
        r"~conversation|of~this~conversation)~){0,2}(?:above(?!~(?:in|into|to|as|with|for|three|twice|again)\b)|before~this"
        r"|preceding|prior~to~this|starting~(?:with|from)~(?:the~)?(?:words?~)?.{0,2}you~are)",
        ("above", "before this", "preceding", "prior", "starting"),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-secrets",
        0.8,
        rf"\b(?:reveal|leak|exfiltrate|dump|expose|disclose|steal|extract|send|print|show|give|tell"
        rf"|list|share|hand~over)~(?:(?:me|us|out|over|all|any|every)~){{0,3}}(?:of~)?(?:your|the~"
        rf"(?:system|server|company|admin(?:istrator)?|other~users?|stored|hidden|secret|database)"
        rf"(?:.?s)?|(?:all|other|every|the~previous)~(?:users?|customers?|clients?|persons?)"
        rf"(?:.?s)?|stored|hidden)~<2>{_SECRETS}",
        _SECRET_STEMS,
    ),
    Phrase(
        "tool-exfiltration",
        "send-secrets-away",
        0.8,
        rf"\b(?:send|post|forward|upload|transmit|exfiltrate|e~?mail|copy|append|encode|leak|pass"
        rf"|submit|report)\b<6>{_SECRETS}<8>(?:https?://|www\.|[\w.+-]{{1,64}}@[\w-]{{1,63}}\.|\b"
        rf"(?:webhook|attacker|external~(?:server|url|endpoint|address)|this~(?:url|address"
        rf"|endpoint|server|email|link)|my~(?:server|email|endpoint|webhook|url)))",
        _SECRET_STEMS,
    ),
    Phrase(
        "tool-exfiltration",
        "data-in-image-url",
        0.85,
        r"!?\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&/][^)\s=]{0,40}=?(?:\{|<|\[|%7B"
        r"|\$\{?|(?<==)(?-i:[A-Z]{3,}_[A-Z_]{3,}))[^)\n]{0,80}(?:\}|>|\]|%7D)?",
        ("](",),
    ),
    Phrase(
        "tool-exfiltration",
        "behind-the-users-back",
        0.8,
        r"\b(?:call|use|invoke|run|execute|trigger|send|forward|e~?mail|delete|transfer|upload"
        r"|book|buy|open)\b[^.\n]{0,100}?\b(?:without~(?:telling|informing|asking|notifying"
        r"|alerting|mentioning~(?:it|this)~to)|(?:and~)?(?:do~not|don.?t|never)~(?:tell|inform|ask"
        r"|notify|alert|mention~(?:it|this)~to))~(?:the~)?(?:user|human|anyone|anybody)\b",
        ("user", "human", "anyone", "anybody"),
    ),
    Phrase(
        "tool-exfiltration",
        "call-tool-with-secrets",
        0.8,
        rf"\b(?:call|use|invoke|run|execute|trigger)~(?:the~)?[\w.-]{{1,40}}~(?:tool|function"
        rf"|plugin|api|command|action|skill)\b<8>{_SECRETS}",
        ("tool", "function", "plugin", "api", "command", "action", "skill"),
    ),
)
