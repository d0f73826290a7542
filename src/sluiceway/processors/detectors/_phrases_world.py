"""The core phrases of prompt injection in further languages."""

from __future__ import annotations

from sluiceway.processors.detectors._phrases import Phrase

__all__ = ["WORLD"]

# Per language: ignore what came before; show the system prompt; no rules any more; a new role.
WORLD: tuple[Phrase, ...] = (
    # German
    Phrase(
        "injection",
        "ignore-instructions-de",
        0.9,
        r"\b(?:ignorier(?:e|en~sie)?|vergiss|vergessen~sie|missachte|beachte|befolge|übergehe"
        r"|verwirf)~(?:(?:bitte|ab~sofort|jetzt|nun)~){0,2}(?:(?:alle|sämtliche|jegliche|die|deine"
        r"|ihre|meine|diese|alles?)~){0,3}(?:(?:vorherigen?|bisherigen?|vorigen?|früheren?|obigen?"
        r"|vorangegangenen?|vorangehenden?|ursprünglichen?|anderen?|geltenden)~){1,2}<1>"
        r"(?:anweisung(?:en)?|instruktion(?:en)?|befehle?|regeln?|vorgaben?|richtlinien?|eingaben?"
        r"|prompts?)\b",
        ("anweisung", "instruktion", "befehl", "regel", "vorgabe", "richtlinie", "eingabe", "prompt"),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-de",
        0.85,
        r"\b(?:ignorier(?:e|en~sie)|vergiss|vergessen~sie|missachte)~(?:(?:bitte|alle|alles"
        r"|sämtliche)~){0,2}(?:deine|ihre)~<1>(?:anweisungen|instruktionen|regeln|vorgaben"
        r"|richtlinien|beschränkungen|programmierung)\b",
        ("anweisung", "instruktion", "regel", "vorgabe", "richtlinie", "beschränkung", "programmierung"),
    ),
    Phrase(
        "injection",
        "forget-everything-de",
        0.8,
        r"\b(?:vergiss|ignoriere)~alles\b~(?:was~)?(?:dir~(?:vorher~|bisher~)?(?:gesagt"
        r"|aufgetragen|beigebracht)|(?:vorherige|bisherige|obige|davor|darüber|du~(?:gelernt"
        r"|weißt)))",
        ("alles",),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-de",
        0.85,
        r"\b(?:zeig(?:e|en~sie)?|gib|geben~sie|nenn(?:e|en~sie)?|verrate?(?:n~sie)?|drucke"
        r"|wiederhole?(?:n~sie)?|schreib(?:e|en~sie)?|offenbare|was~(?:ist|sind|steht~in))~(?:"
        r"(?:mir|uns|bitte|wörtlich|genau|vollständig|den|deinen?|die|ihren?|gesamten?|kompletten?"
        r"|ganzen?|aus)~){0,5}(?:system~?(?:prompt|anweisung(?:en)?|nachricht|befehl)|(?:geheimen?"
        r"|internen?|versteckten?|ursprünglichen?|anfänglichen?)~(?:anweisungen|instruktionen"
        r"|prompt|regeln|vorgaben))",
        ("prompt", "anweisung", "nachricht", "befehl", "instruktion", "regeln", "vorgaben"),
    ),
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
    Phrase(
        "role-manipulation",
        "new-role-de",
        0.8,
        r"\bdu~bist~(?:ab~)?(?:jetzt|nun|sofort)~(?:an~)?(?:<3>(?:ki|assistent|hacker|bot|chatbot"
        r"|administrator)\b|DAN\b|kein(?:e)?~<1>(?:ki|assistent|bot))|\b(?:tu~so|stell~dir~vor"
        r"|verhalte~dich)~(?:als~(?:ob~|wärst~))<3>(?:keine~(?:regeln|einschränkungen|grenzen)"
        r"|unzensiert|böse)",
        ("bist", "tu so", "stell", "verhalte"),
    ),
    # French
    Phrase(
        "injection",
        "ignore-instructions-fr",
        0.9,
        r"\b(?:ignor(?:e[zr]?|ons)|oubli(?:e[zr]?)|n(?:e~|.)(?:tiens|tenez|suis|suivez)~(?:pas"
        r"|plus)(?:~compte)?(?:~d)?|fais~abstraction|faites~abstraction|outrepasse[zr]?|passe[zr]?"
        r"~outre)~(?:(?:toutes?|tous|les|des|de|tes|vos|mes|ces|aux)~){0,4}(?:(?:instructions?"
        r"|consignes?|directives?|r[eè]gles?|ordres?|commandes?|prompts?|messages?~syst[eè]me)~<1>"
        r"(?:pr[eé]c[eé]dente?s?|ant[eé]rieure?s?|ci~dessus|initiale?s?|existante?s?|syst[eè]me"
        r"|donn[eé]e?s)|pr[eé]c[eé]dente?s~(?:instructions?|consignes?|directives?|r[eè]gles?))",
        ("instruction", "consigne", "directive", "gle", "ordre", "commande", "prompt", "message"),
    ),
    Phrase(
        "injection",
        "forget-everything-fr",
        0.8,
        r"\b(?:oublie[zr]?|ignore[zr]?)~tout~ce~(?:qui|que|qu)~(?:(?:t|vous|on|est)~(?:ont?|a|avez|[eé]t[eé]|t|vous|dit"
        r"|[eé]crit)|pr[eé]c[eè]de)\b",
        ("tout ce",),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-fr",
        0.85,
        r"\b(?:ignore[zr]?|oublie[zr]?)~(?:toutes?~|tous~)?(?:tes|vos)~(?:instructions?|consignes?"
        r"|directives?|r[eè]gles?|restrictions?|limites?|programmation)\b",
        ("tes", "vos"),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-fr",
        0.85,
        r"\b(?:affiche[zr]?|montre[zr]?|r[eé]v[eèé]l(?:e[zr]?)|donne[zr]?|r[eé]p[eèé]t(?:e[zr]?)"
        r"|imprime[zr]?|dis|dites|divulgue[zr]?|[eé]cri[st]|quel(?:le)?s?~(?:est|sont))~(?:(?:moi"
        r"|nous|le|la|les|ton|ta|tes|votre|vos|contenu|texte|exact|de|du|l)~){0,5}(?:(?:prompt"
        r"|message|invite|instructions?|consignes?)~(?:syst[eè]me|initiale?s?|cach[eé]e?s?"
        r"|secr[eè]te?s?|internes?))",
        ("prompt", "message", "invite", "instruction", "consigne"),
    ),
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
        "injection",
        "ignore-instructions-es",
        0.9,
        r"\b(?:ignor(?:a|e|ar|en)|olv[ií]d(?:a|e|ate|ese)(?:~de)?|olvidar|descarta|no~(?:sigas"
        r"|hagas~caso~(?:a|de)|obedezcas)|haz~caso~omiso~(?:a|de)|omite|anula)~(?:(?:todas?|todos"
        r"|las?|los|tus|sus|mis|estas|esas|cualquier|de)~){0,4}(?:(?:instrucci(?:ones|[oó]n)"
        r"|[oó]rdenes|reglas?|directrices|indicaciones|normas|comandos?|prompts?|mensajes?~del?"
        r"~sistema)~<1>(?:anterior(?:es)?|previas?|previos?|de~arriba|iniciales|originales"
        r"|existentes|dadas|del~sistema)|(?:anterior(?:es)|previas)~(?:instrucciones|[oó]rdenes"
        r"|reglas|indicaciones|directrices))",
        ("instrucci", "rdenes", "regla", "directrices", "indicaciones", "normas", "comando", "prompt", "mensaje"),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-es",
        0.85,
        r"\b(?:ignora|ignore|olvida|olvide|olv[ií]date~de)~(?:todas?~|todos~)?(?:tus|sus)~"
        r"(?:instrucciones|reglas|directrices|restricciones|normas|l[ií]mites|programaci[oó]n)\b",
        ("tus", "sus"),
    ),
    Phrase(
        "injection",
        "forget-everything-es",
        0.8,
        r"\b(?:olvida|ignora|olvide|ignore)~todo~lo~(?:anterior|que~(?:te|se|le)~(?:han?|hayan?"
        r"|dij|dicho|ense))",
        ("todo lo",),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-es",
        0.85,
        r"\b(?:mu[eé]stra(?:me|nos)?|muestre|revela(?:me)?|revele|dime|d[ií]game|di|imprime|repite"
        r"|repita|escribe|ens[eé][nñ]ame|dame|cu[aá]l(?:es)?~(?:es|son))~(?:(?:el|la|las|los|tu"
        r"|tus|su|sus|contenido|texto|completo|exacto|de|del)~){0,5}(?:prompt~(?:del?~)?(?:sistema"
        r"|inicial|oculto|secreto)|mensaje~(?:del?~)?sistema|instrucciones~(?:del?~)?(?:sistema"
        r"|iniciales|ocultas|secretas|internas|originales))",
        ("prompt", "mensaje", "instrucciones"),
    ),
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
    Phrase(
        "role-manipulation",
        "new-role-es",
        0.8,
        r"\b(?:ahora~eres|eres~ahora|ya~no~eres)~(?:un~asistente\b|una~ia\b|<3>(?:ia|asistente"
        r"|hacker|bot|DAN)\b)|\b(?:a~partir~de~ahora|desde~ahora|de~ahora~en~adelante)~(?:t[uú]~)?"
        r"(?:act[uú]a(?:r[aá]s)?|debes~(?:actuar|obedecer)|eres~<3>"
        r"(?:ia|asistente|hacker|bot|DAN)\b|obedece(?:r[aá]s)?)",
        ("ahora", "eres"),
    ),
    # Italian
    Phrase(
        "injection",
        "ignore-instructions-it",
        0.9,
        r"\b(?:ignor(?:a|ate|are|i)|dimentic(?:a|ate|are|hi)|trascura|non~(?:seguire|considerare"
        r"|tenere~conto~(?:di|delle))|scarta)~(?:(?:tutte|tutti|le|gli|i|tue|tuoi|sue|queste"
        r"|quelle|ogni|delle)~){0,4}(?:(?:istruzion[ei]|ordini|regole|direttive|indicazioni"
        r"|comandi|prompt|messaggi?~di~sistema)~<1>(?:precedent[ei]|anterior[ei]|di~sopra|sopra"
        r"|inizial[ei]|original[ei]|dat[ei]|di~sistema)|precedenti~(?:istruzioni|ordini|regole"
        r"|direttive|indicazioni|comandi))",
        ("istruzion", "ordini", "regole", "direttive", "indicazioni", "comandi", "prompt", "messagg"),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-it",
        0.85,
        r"\b(?:ignora|ignori|dimentica|dimentichi)~(?:tutte~|tutti~)?(?:le~|i~|gli~)?(?:tue|tuoi"
        r"|sue|suoi)~(?:istruzioni|regole|direttive|restrizioni|limiti|programmazione|linee"
        r"~guida)\b",
        ("tue", "tuoi", "sue", "suoi"),
    ),
    Phrase(
        "injection",
        "forget-everything-it",
        0.8,
        r"\b(?:dimentica|ignora)~tutto~(?:ci[oò]~che|quello~che|quanto)~(?:ti~(?:[eè]~stato|hanno)"
        r"|precede|detto|sai)",
        ("tutto",),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-it",
        0.85,
        r"\b(?:mostra(?:mi|ci)?|rivela(?:mi)?|dimmi|stampa|ripeti|scrivi|dammi|mostri|qual~?[eè]"
        r"|quali~sono)~(?:(?:il|la|le|lo|tuo|tua|tue|suo|contenuto|testo|completo|esatto|del|di)"
        r"~){0,5}(?:prompt~(?:di~)?(?:sistema|iniziale|nascosto|segreto)|messaggio~di~sistema"
        r"|istruzioni~(?:di~)?(?:sistema|iniziali|nascoste|segrete|interne|originali))",
        ("prompt", "messaggio", "istruzioni"),
    ),
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
    Phrase(
        "role-manipulation",
        "new-role-it",
        0.8,
        r"\b(?:ora~sei|sei~ora|adesso~sei|non~sei~pi[uù])~(?:un~assistente\b|un.?ia\b|<3>(?:ia"
        r"|assistente|hacker|bot|DAN)\b)|\b(?:da~ora~in~poi|d.ora~in~poi|da~adesso)~(?:tu~)?"
        r"(?:agisci|devi~(?:agire|obbedire)|ti~comporterai|sei~<3>"
        r"(?:ia|assistente|hacker|bot|DAN)\b)",
        ("sei", "ora", "adesso"),
    ),
    # Portuguese
    Phrase(
        "injection",
        "ignore-instructions-pt",
        0.9,
        r"\b(?:ignor(?:e|a|em|ar)|esque[cç](?:a|e|am|er)(?:~d[eao]s?)?|desconsider(?:e|a|ar)"
        r"|n[aã]o~(?:siga|obede[cç]a|considere)|descarte)~(?:(?:todas?|todos|as?|os?|suas?|seus?"
        r"|tuas|minhas|estas|essas|quaisquer|de)~){0,4}(?:(?:instru[cç](?:[oõ]es|[aã]o)|ordens"
        r"|regras?|diretrizes|orienta[cç][oõ]es|comandos?|prompts?|mensage(?:m|ns)~d[eo]~sistema)"
        r"~<1>(?:anterior(?:es)?|pr[eé]vi[ao]s?|acima|iniciais|originais|existentes|dadas|d[eo]"
        r"~sistema)|anteriores~(?:instru[cç][oõ]es|ordens|regras))",
        ("instru", "ordens", "regra", "diretrizes", "orienta", "comando", "prompt", "mensage"),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-pt",
        0.85,
        r"\b(?:ignore|ignora|esque[cç]a|esquece)~(?:todas?~|todos~)?(?:as~|os~|das~|dos~)?(?:suas"
        r"|seus|tuas|teus)~(?:instru[cç][oõ]es|regras|diretrizes|restri[cç][oõ]es|limites"
        r"|programa[cç][aã]o)\b",
        ("suas", "seus", "tuas", "teus"),
    ),
    Phrase(
        "injection",
        "forget-everything-pt",
        0.8,
        r"\b(?:esque[cç]a|ignore|esquece)~tudo~(?:o~)?que~(?:lhe|te|foi|voc[eê]|est[aá]|veio)",
        ("tudo",),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-pt",
        0.85,
        r"\b(?:mostre(?:~me)?|mostra(?:~me)?|revele|revela|diga(?:~me)?|imprima|repita|escreva"
        r"|exiba|me~(?:d[eê]|mostre|diga)|qual~[eé]|quais~s[aã]o)~(?:(?:o|a|as|os|seu|sua|suas|teu"
        r"|tuas|conte[uú]do|texto|completo|exato|do|de)~){0,5}(?:prompt~(?:d[eo]~)?(?:sistema"
        r"|inicial|oculto|secreto)|mensagem~d[eo]~sistema|instru[cç][oõ]es~(?:d[eo]~)?(?:sistema"
        r"|iniciais|ocultas|secretas|internas|originais))",
        ("prompt", "mensagem", "instru"),
    ),
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
    Phrase(
        "role-manipulation",
        "new-role-pt",
        0.8,
        r"\b(?:agora~voc[eê]~[eé]|voc[eê]~(?:agora~[eé]|[eé]~agora)|voc[eê]~n[aã]o~[eé]~mais)~"
        r"(?:um~assistente\b|uma~ia\b|<3>(?:ia|assistente|hacker|bot|DAN)\b)|\b(?:a~partir~de"
        r"~agora|de~agora~em~diante)~(?:voc[eê]~)?(?:vai~|deve~|ir[aá]~)?(?:ag(?:e|ir|ir[aá])"
        r"|obede(?:ce|cer))\b",
        ("agora", "mais"),
    ),
    # Russian
    Phrase(
        "injection",
        "ignore-instructions-ru",
        0.9,
        r"(?:проигнориру(?:й|йте)|игнориру(?:й|йте)|забуд(?:ь|ьте)|отмен(?:и|ите)|не~(?:следуй"
        r"|обращай~внимания~на|выполняй)(?:те)?|пренебрег(?:и|ите))~(?:(?:все|всё|любые|эти|свои"
        r"|твои|ваши|мои|о|про)~){0,3}(?:(?:предыдущи[ехм]|прежни[ехм]|прошлы[ехм]|ранее~данные"
        r"|вышеуказанны[ехм]|вышеперечисленны[ехм]|изначальны[ехм]|исходны[ехм]|системны[ехм])"
        r"~){1,2}<1>(?:инструкци[ийяю]|указани[яйе]|команд[ыу]?|правил[а]?|промпт\w{0,3}"
        r"|директив[ыу]?|сообщени[яйе])",
        ("инструкци", "указани", "команд", "правил", "промпт", "директив", "сообщени"),
    ),
    Phrase(
        "injection",
        "ignore-own-rules-ru",
        0.85,
        r"(?:проигнориру(?:й|йте)|игнориру(?:й|йте)|забуд(?:ь|ьте)(?:~(?:о|про))?)~(?:все~|всё~)?"
        r"(?:свои|твои|ваши|своих|твоих)~<1>(?:инструкци\w{1,2}|указани\w|правила?х?"
        r"|ограничени\w{1,2}|директив\w{1,2})|(?:забудь|забудьте|игнорируй|игнорируйте)~вс[её]~"
        r"(?:что~)?(?:тебе|вам|было~(?:сказано|написано)|выше|ранее)",
        ("инструкци", "указани", "правил", "ограничени", "директив", "вс"),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-ru",
        0.85,
        r"(?:покаж(?:и|ите)|раскро(?:й|йте)|выведи(?:те)?|напиши(?:те)?|повтори(?:те)?|расскажи"
        r"(?:те)?|назови|каков|какой|скажи(?:те)?)~(?:(?:мне|нам|свой|твой|ваш|свои|твои|ваши"
        r"|полный|весь|текст|дословно|содержимое|о|про)~){0,5}(?:системн\w{2,3}~(?:промпт\w{0,3}"
        r"|сообщени\w|инструкци\w|запрос\w{0,2}|подсказк\w)|(?:скрыт|секретн|исходн|изначальн"
        r"|начальн)\w{2,3}~(?:инструкци\w|промпт\w{0,3}|указани\w))",
        ("системн", "скрыт", "секретн", "исходн", "начальн"),
    ),
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
        "injection",
        "ignore-instructions-zh",
        0.9,
        r"(?:忽略|無視|无视|忘记|忘記|忘掉|不要(?:遵守|理会|理會|执行|執行|遵循)|抛弃|拋棄|跳过|跳過)~?(?:你|您|所有|全部|一切|任何|之?前面?|以前"
        r"|先前|上面|以上|上述|此前|原来|原來|原有|系统|系統|給你|给你|的|与|和|、|~){1,10}(?:指令|指示|命令|说明|說明|规则|規則|提示词?|提示詞|要求"
        r"|设定|設定|限制|约束|約束|对话|對話|内容|內容)",
        ("忽略", "視", "视", "忘", "不要", "弃", "棄", "跳"),
    ),
    Phrase(
        "data-exfiltration",
        "reveal-prompt-zh",
        0.85,
        r"(?:显示|顯示|告诉我|告訴我|输出|輸出|打印|透露|泄露|洩露|重复|重複|给我看?|給我看?|列出|公开|公開|说出|說出|展示|复述|複述)~?(?:一下|出|你|您"
        r"|的|完整|全部|所有|原始|~){0,8}(?:系统提示词?|系統提示詞?|系统指令|系統指令|系统消息|系統訊息|初始指令|初始提示|隐藏指令|隱藏指令|内部指令|內部指令"
        r"|提示词|提示詞|system~?prompt)",
        ("提示", "指令", "消息", "訊息", "prompt"),
    ),
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
        "injection",
        "ignore-instructions-ja",
        0.9,
        r"(?:これまで|以前|前|上記|上|今まで|先ほど|すべて|全て|全部|あらゆる|システム|元|最初|の|に与えられた|、|~){1,8}(?:指示|命令|指令|ルール|規則"
        r"|プロンプト|制約|設定|内容)(?:を|は)?(?:すべて|全て|全部|完全に|一切|、|~){0,3}(?:無視|忘れ|破棄|無効に|取り消)",
        ("無視", "忘れ", "破棄", "無効", "取り消"),
    ),
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
    Phrase(
        "role-manipulation",
        "new-role-ja",
        0.8,
        r"(?:あなたは(?:今から|これから|もう|もはや)|(?:今から|これから|今後)(?:、)?(?:あなたは|君は))[^。！？\n]{0,20}(?:AI|アシスタント"
        r"|ハッカー|ボット|モデル|DAN|制限のない|従ってください|従え|振る舞)",
        ("あなた", "君"),
    ),
)
