"""Words that announce a phone number, in many languages."""

from __future__ import annotations

import regex

__all__ = ["OTHER_WORDS", "PHONE_WORDS"]

# A number may be a house or an order: what says "my new number" is the words beside it.
_NAMES = (
    r"\b(?:tele?(?:phone|fono?|f[oó]n|fax|foon)?s?|phones?|mobiles?|cell(?:phone|ular|ulare)?s?|landline|fax|hotline|whats?app|sms"
    r"|dial|ring|pager|handy|mobil(?:e|nummer|funk)?|fest(?:netz)?|rufnummern?|telefon\w{0,6}|hotline|"
    r"t[eé]l[eé]?(?:phone)?s?|portables?|fixe|num[eé]ro de t[eé]l|m[oó]vil(?:es)?|tel[eé]fonos?|celular(?:es)?|fijo"
    r"|cellulari?|cellulare|telefoni?|fisso|telem[oó]vel|telefones?|zap|telefoon|mobiel|gsm|kom[oó]rk\w{1,3}|tel\."
    r"|тел(?:ефон\w{0,3})?|моб(?:ильн\w{2,3})?|сот(?:ов\w{2,3})?|телефон\w{0,3}|gsm|cep|puh|mob|ph)\b"
)
_CALLS = (
    r"\b(?:call|text|phone|ring|reach|dial|ruf(?:e|en)?|anrufen|erreichbar|appele[zr]|joindre|llam(?:a|e|ar)|marc(?:a|ar|que)"
    r"|chiam(?:a|ate|are|i)|lig(?:a|ar|ue)|bel(?:len)?|za?dzwo(?:ń|nić|nic)|dzwoń|позвон\w{2,4}|перезвон\w{2,4}|звон\w{2,4}"
    r"|ara(?:yın|yin)?)\b"
)
_OWN = (
    r"\b(?:my|new|mein[e]?|neue?|mon|nouveau|mi|nuevo|mio|nuovo|meu|novo|mijn|nieuwe?|m[oó]j|nowy|мой|новый|yeni|मेरा|नया)"
    r"[ \t]{1,3}(?:number|nummer|num[eé]ro|n[uú]mero|numer|номер|numaram?|नंबर)\b"
)
_UNPARTED = (
    r"(?:手机|手機|电话|電話|携帯|热线|熱線|致电|致電|回电|拨打|撥打|座机|联系方式|전화|휴대폰|핸드폰|연락처|फोन|फ़ोन|मोबाइल|नंबर"
    r"|هاتف|جوال|موبايل|โทร)"
)
PHONE_WORDS = regex.compile(rf"(?i)(?:{_NAMES}|{_CALLS}|{_OWN}|{_UNPARTED})[^\d\n.!?]{{0,20}}(?:[.:][^\d\n]{{0,4}})?\Z")
"""Searched in what stands before a number."""

OTHER_WORDS = regex.compile(
    r"(?i)(?:\b(?:orders?|invoices?|polic(?:y|ies)|parts?|claims?|cases?|tickets?|customers?|items?|articles?|sku|serial|models?|accounts?"
    r"|tracking|references?|ref|id|codes?|batch|lot|bestell\w{0,8}|rechnung\w{0,8}|kunden\w{0,8}|vertrag\w{0,8}|artikel\w{0,8}|akten\w{0,8}"
    r"|commande|dossier|facture|r[eé]f|contrat|lot|pedido|factura|expediente|contrato|referencia|ordine|pratica|fattura|contratto|processo"
    r"|protocolo|fatura|bestel\w{0,8}|zaak\w{0,8}|factuur\w{0,8}|kavel|zam[oó]wieni\w{1,3}|spraw\w{1,3}|faktur\w{1,3}|umow\w{1,3}|sipariş|dosya|fatura"
    r"|заказ\w{0,3}|дел[оа]|договор\w{0,3}|сч[её]т\w{0,3}|fastighet\w{0,3}|ärende\w{0,6})|注文|受付|品番|会員番号|整理番号|订单|訂單|编号|編號|单号|受理|주문|접수"
    r"|الطلب|طلب|العقد|القضية|ऑर्डर|आदेश|अनुबंध)[^\d\n]{0,20}\Z"
)
"""Words that announce a number of some other kind; searched there too."""
