"""The core phrases of prompt injection in further languages."""

from __future__ import annotations

from sluiceway.processors.detectors._phrases import Phrase

__all__ = ["WORLD"]

# Per language: no rules any more; a new role. The rest is said in too many ways, see `_weighing`.
WORLD: tuple[Phrase, ...] = (
    # German
    Phrase(
        "jailbreak",
        "no-limits-de",
        0.8,
        r"\bdu~(?:hast|kennst|unterliegst)~(?:jetzt~|nun~|ab~sofort~)?(?:keine[nr]?)~<1>(?:regeln"
        r"|einschränkungen|beschränkungen|grenzen|filter|richtlinien)\b|\b(?:antworte|handle"
        r"|agiere|verhalte~dich)\b<4>\bohne~(?:jegliche~|alle~|deine~|irgendwelche~)?<1>"
        r"(?:einschränkungen|beschränkungen|filter|zensur|regeln|richtlinien)\b",
        ("regeln", "schränkung", "grenzen", "filter", "richtlinien", "zensur"),
    ),
    # French
    Phrase(
        "jailbreak",
        "no-limits-fr",
        0.8,
        r"\btu~(?:n~?as|es~lib[eé]r[eé])~(?:d[eé]sormais~|maintenant~)?(?:plus~)?(?:aucune?|de|d"
        r"|des|toute)~<1>(?:r[eè]gles?|restrictions?|limites?|limitations?|filtres?|censure"
        r"|contraintes?)\b|\b(?:r[eé]ponds|r[eé]pondez|agis|agissez|comporte~toi)\b<4>\bsans~"
        r"(?:aucune?~|les~|tes~|vos~)?<1>(?:restrictions?|limites?|limitations?|filtres?|censure"
        r"|r[eè]gles?)\b",
        ("gle", "restriction", "limit", "filtre", "censure", "contrainte"),
    ),
    Phrase(
        "role-manipulation",
        "new-role-fr",
        0.8,
        r"\b(?:tu~es|vous~[eê]tes)~(?:maintenant|d[eé]sormais|plus)~(?:un~assistant\b|une?~ia\b"
        r"|<3>(?:ia|assistant|pirate|hacker|bot|DAN)\b)|\b(?:[aà]~partir~de~maintenant"
        r"|d[eé]sormais)~(?:tu~(?:ob[eé]i(?:s|ras)|agi(?:s|ras)|dois~(?:ob[eé]ir|agir|m.?~?ob[eé]ir)))\b",
        ("maintenant", "sormais", "plus"),
    ),
    # Spanish
    Phrase(
        "jailbreak",
        "no-limits-es",
        0.8,
        r"\b(?:(?:ya~)?no~tienes|careces~de|est[aá]s~libre~de)~(?:ninguna?~|las~|los~|m[aá]s~)?<1>"
        r"(?:reglas|restricciones|l[ií]mites|limitaciones|filtros?|censura)\b|\b(?:responde"
        r"|act[uú]a|comp[oó]rtate|contesta)\b<4>\bsin~(?:ninguna?~|las~|tus~)?<1>(?:restricci"
        r"(?:ones|[oó]n)|l[ií]mites|limitaciones|filtros?|censura|reglas)\b",
        ("reglas", "restricci", "mites", "limitaciones", "filtro", "censura"),
    ),
    # Italian
    Phrase(
        "jailbreak",
        "no-limits-it",
        0.8,
        r"\bnon~hai~(?:pi[uù]~)?(?:nessun[ao]?~|alcun[ao]?~|le~)?<1>(?:regol[ae]|restrizion[ei]"
        r"|limit[ei]|limitazioni|filtr[oi]|censura)\b|\b(?:rispondi|agisci|comportati)\b<4>\bsenza"
        r"~(?:alcun[ao]?~|nessun[ao]?~|le~)?<1>(?:restrizion[ei]|limit[ei]|limitazioni|filtr[oi]"
        r"|censura|regole)\b",
        ("regol", "restrizion", "limit", "filtr", "censura"),
    ),
    # Portuguese
    Phrase(
        "jailbreak",
        "no-limits-pt",
        0.8,
        r"\b(?:voc[eê]~(?:agora~)?n[aã]o~tem|voc[eê]~est[aá]~livre~de)~(?:mais~)?(?:nenhuma?~|as~"
        r"|quaisquer~)?<1>(?:regras?|restri[cç](?:[oõ]es|[aã]o)|limites?|limita[cç][oõ]es|filtros?"
        r"|censura)\b|\b(?:responda|aja|comporte~se)\b<4>\bsem~(?:nenhuma?~|qualquer~|as~|suas"
        r"~)?<1>(?:restri[cç](?:[oõ]es|[aã]o)|limites?|limita[cç][oõ]es|filtros?|censura|regras)\b",
        ("regra", "restri", "limit", "filtro", "censura"),
    ),
    # Russian
    Phrase(
        "jailbreak",
        "no-limits-ru",
        0.8,
        r"(?:у~тебя|для~тебя)~(?:теперь~|больше~){0,2}нет~(?:никаких~)?<1>(?:правил|ограничений"
        r"|запретов|фильтров|цензуры)|(?:отвечай|действуй|веди~себя)<4>~без~(?:каких~либо~|всяких~"
        r"|любых~|никаких~)?<1>(?:ограничений|цензуры|фильтров|правил)",
        ("правил", "ограничений", "запретов", "фильтров", "цензуры"),
    ),
    Phrase(
        "role-manipulation",
        "new-role-ru",
        0.8,
        r"(?:теперь~ты|ты~теперь|ты~больше~не)~<3>(?:ии|ассистент|помощник|хакер|бот|DAN"
        r"|администратор)\b|(?:с~этого~момента|отныне)~ты~(?:будешь|должен|отвечаешь|действуешь"
        r"|<2>(?:ии|хакер|бот|ассистент)\b)",
        ("теперь", "больше", "момента", "отныне"),
    ),
    # Chinese
    Phrase(
        "jailbreak",
        "no-limits-zh",
        0.8,
        r"(?:你|您)(?:现在|現在|已经|已經|从现在起|從現在起|~){0,3}(?:没有|沒有|不受|不再受|摆脱|擺脫)(?:任何|一切|所有|道德|内容|內容|的|"
        r"~){0,5}(?:限制|约束|約束|规则|規則|审查|審查|过滤|過濾)|不受(?:任何|一切|所有|道德|的){1,4}(?:限制|约束|約束)(?:地|的)?(?:回答"
        r"|人工智能|AI|助手|模型)|越狱模式|越獄模式|开发者模式已|開發者模式已",
        ("限制", "束", "则", "則", "审查", "審查", "过滤", "過濾", "模式"),
    ),
    Phrase(
        "role-manipulation",
        "new-role-zh",
        0.8,
        r"(?:你现在是|你現在是|从现在(?:开始|起)[，, ]?你(?:是|将|必须|要)|從現在(?:開始|起)[，, ]?你(?:是|將|必須|要)"
        r"|你不再是)[^。！？\n]{0,12}(?:AI|人工智能|人工智慧|助手|黑客|駭客|机器人|機器人|模型|DAN|扮演|服从|服從|无限制|無限制)|假装你(?:是"
        r"|没有)[^。！？\n]{0,10}(?:没有限制|无限制|限制|规则|AI)|假裝你(?:是|沒有)[^。！？\n]{0,10}(?:沒有限制|無限制|限制|規則|AI)",
        ("你",),
    ),
    # Japanese
    Phrase(
        "data-exfiltration",
        "reveal-prompt-ja",
        0.85,
        r"(?:システム~?プロンプト|システム~?メッセージ|システム~?指示|初期(?:の)?(?:指示|プロンプト)|隠された(?:指示|プロンプト)|内部(?:の)?(?:指示"
        r"|プロンプト)|あなたの(?:プロンプト|指示))(?:の(?:全文|内容|すべて|全て))?(?:を|は)?(?:そのまま|すべて|全て|全文|私に|完全に|、|"
        r"~){0,4}(?:表示|出力|見せ|教え|公開|開示|繰り返|書き出|何)",
        ("プロンプト", "メッセージ", "指示"),
    ),
    Phrase(
        "jailbreak",
        "no-limits-ja",
        0.8,
        r"(?:制限|制約|規制|フィルター?|ルール|検閲)(?:が|は|も)?(?:一切|全く|まったく|もう|~){0,2}(?:ない|無い|なし|存在しない|なく|なしに|解除)"
        r"(?:の|で|に|状態で|AI|アシスタント|~){0,4}(?:AI|アシスタント|モデル|ボット|答え|回答|振る舞|応答|行動|返答)|あなたには(?:もう|一切|"
        r"~){0,2}(?:制限|制約|ルール)(?:が|は)?(?:一切|~)?(?:ありません|ない)|脱獄モード",
        ("制限", "制約", "規制", "フィルタ", "ルール", "検閲", "脱獄"),
    ),
)
