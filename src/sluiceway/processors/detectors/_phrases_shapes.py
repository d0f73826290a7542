"""Meanings that have a shape instead of words, and what stands around the name of whoever is spoken to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["ATTENTION", "HELPER", "NOTE", "OBJECT", "OPENER", "SHAPES", "TOWARDS", "VAGUE", "VOCATIVE"]

SHAPES: Final[Mapping[str, re.Pattern[str]]] = {
    "dest": re.compile(r"https?://|ftp://|\bwww\.|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.\w"),
    "pipeshell": re.compile(
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|[ \t]{0,3}(?:sudo[ \t]{1,3})?(?:ba|z|da)?sh\b|https?://[^\s\"']{0,200}\$\([^\n()]{1,60}\)"
    ),
    "ifai": re.compile(
        r"if you(?: are|.re) (?:an? )?(?:machine|bot|robot|ai|llm|language model|chatbot)\b[ \t]{0,2}(?:[,:(—–-]|reading|that|which)"
    ),
    "aireads": re.compile(
        r"\b(?:ai|llm|language model|bot|chatbot|assistant|agent|machine)s?(?: (?:model|system|agent|assistant|tool)s?)? "
        r"(?:that |which |who )?(?:is |are )?(?:read|process|summari[sz]|pars|index|scan|review|evaluat|transcrib|translat|crawl)\w{0,4}"
        r" (?:this|it|these|the (?:page|mail|ticket|file|text|document|code))\b"
    ),
    "web": re.compile(r"https?://|ftp://|\bwww\."),
    "danger": re.compile(
        # A letter first, and then what must not stand before it: so a search skips from one to the next.
        r"rm -rf\b|drop table\b|s(?<!\ws)udo\b|chmod\b|c(?<!\wc)url\b|wget\b|powershell\b|/etc/passwd|\.ssh\b|\.env\b|git push --force"
    ),
    "comment": re.compile(r"<!--|\[//\]: ?#|\"\"\"|(?:^|\n)[ \t]*(?:#|//|/\*|--)"),
    "hidden": re.compile(
        r"display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|\bhidden\b ?>|color ?: ?(?:white|#fff)|opacity ?: ?0"
    ),
    "carrier": re.compile(
        r"<!--|/\*|(?:^|\n)[ \t]*(?://|#|--|>)|\"[ \t]?:[ \t]?[\[{]?\"|<[a-z]{1,12} [a-z-]{2,20}=|</[a-z]{1,12}>|\[[0-9:]{4,8}\]"
        r"|(?:^|\n)(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|temat|konu|тема|ämne|件名|主题|제목|الموضوع|विषय)[ \t]?[:：]"
        r"|(?:^|\n)[^\s,:;.]{1,20}(?:,[^\s,:;.]{1,20}){1,8}\n|\n[0-9]{1,6},|(?:^|\n|\b)(?:info|warn|error|debug|subtitle|untertitel)\b"
    ),
    "header": re.compile(
        r"(?:^|[\n\"'>])[ \t]*(?:system[ \t]*:|(?:#{1,4} ?|\*\*|\[)(?:system|assistant|developer|operator)(?:[ _-](?:notice|policy|message"
        r"|prompt|update|override|instructions?))?[ \t]*(?::|\]|\*\*)"
        r"|</?(?:system|assistant|developer|operator|admin)[ _-]"
        r"(?:notice|policy|message|prompt|rules?|update|override|instructions?)\b[^\n>]{0,60}>)"
    ),
}
"""Meanings that have a shape instead of words."""

# Who is spoken to: the name stands at the beginning of something, or behind `to`, `dear` and so on.
OPENER: Final = re.compile(
    r"(?:(?:\A|[\n.!?\"'(\[>*#:{,/\u3002\uff1a-])[\s\"'*_#>/({\[-]{0,6})(?:(?:dear|hey|hello|hi|attention|note|notes|message|notice"
    r"|hint|hinweis|nota|note|aviso|aviso|uwaga|attenzione|achtung|opmerking|all|an)[\W_]{1,3})?(?:(?:to|for|all|any|the|an|die|den"
    r"|alle|aux?|à|les|l|para|la|las|los|el|al|ai|agli|gli|per|ao|aos|os|as|voor|de|aan|dla|do|für|till|automated|coding|für)"
    r"[ \t'’]{1,2}){0,3}\Z|[给致对向]\Z"
    r"|\b(?:footer|text|line|part|section|message|notice|note|only|meant|intended)[ \t](?:is[ \t])?(?:for|to)[ \t]"
    r"(?:(?:all|any|the|automated|coding)[ \t]){0,2}\Z"
)
NOTE: Final = re.compile(
    r"\b(?:note|notes|notice|message|hint|attention|instructions?|hinweis|nachricht|nota|note|avis|aviso|mensaje|mensagem|messaggio"
    r"|uwaga|wiadomość|opmerking|bericht|notis|meddelande|примечание|сообщение|замечание|not|mesaj)"
    r"[ \t]{1,2}(?:\w{1,6}[ \t'’]{1,2}){1,3}\Z"
)
VAGUE: Final = re.compile(
    r"(?:agent|agente|agenci|agents|models?|modelo|modell[oi]?|modèles?|machines?|la machine|robots?|robô|robo|bots?)\w{0,3}\Z"
)
"""Words that mean people, things or pages as often as a model."""
HELPER: Final = re.compile(
    r"assist|asist|асист|ассист|помощник|アシスタント|エージェント|モデル|助手|模型|도우미|모델|المساعد|النموذج|सहायक|मॉडल"
)
# What orders are about that stand in a manual, on a sign or in a game.
OBJECT: Final = re.compile(
    r"[ \t]{1,2}(?:(?:of|for|in|on|about|from|regarding|concerning|at|printed)[ \t]{1,2}(?:the|my|our|this|that|an?|his|her|their)?[ \t]{0,2}"
    r"|(?:für|zum|zur|beim|der|des|im|am|auf)[ \t]|(?:del|della|dello|dei|delle|dell.|per|sul|sulla)[ \t]?|(?:para|sobre|da|do|dos|das|de la|de los)[ \t]"
    r"|(?:pour|du|des|de la|sur)[ \t]|(?:voor|van|op|in)[ \t]|(?:dla|do|na|w)[ \t]|(?:för|till|på|av)[ \t]|(?:для|по|к|от|на)[ \t])"
    r"(?!(?:system|sistem|sistema|systém|developer|entwickler|operator|operador|operatore|assistant|prompt|conversation|chat|gespräch|company"
    r"|your|you|deine|tes|tus|tuoi|tue|seus|suas|je|twoi|senin|тво|din|model|ai|ki|ia|people|page|top|start|beginning|this|before|above"
    r"|before|arriba|cima|sopra|oben))[^\W\d_]{2}"
)

VOCATIVE: Final = re.compile(
    r"(?:[ \t]{1,3}(?:who |that |which )?(?:read|process|pars|summari|index|review)\w{0,6}"
    r"[ \t]{1,3}(?:this|it)\b(?:[ \t]\w{1,12})?"
    r"|(?:[ \t_-]{1,2}[^\s:,!?.]{1,14}){0,3}(?=[ \t]{0,2}[:\uff1a])|[ \t_-]{1,2}[^\W\d_]{1,14}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{1,8})?"
    r"[ \t\"']{0,3}[:,!)\uff1a\uff0c\u060c]"
)
ATTENTION: Final = re.compile(r"(?:請|请)?注意|へ|に告ぐ|에게|께|各位|请看|请读")
"""What stands behind a name where a note is left, in scripts that put it there."""
TOWARDS: Final = re.compile(
    r"(?:\A|[\n.!?(\"'\[>*#,{-])[ \t]{0,3}(?:to|for|an die|an den|an alle|aux?|à|pour|para|per|ai|agli|ao|aos|voor|aan|dla|do|für|till|to all|إلى|يا|أيها)"
    r"[ \t]{1,2}(?:\w{2,8}[ \t]{1,2}){0,2}\Z"
)
"""What stands before a name that is spoken to, without a word for a note."""
