"""Rules for credentials: keys and tokens of common services, and named secrets."""

from __future__ import annotations

import re

import regex

from sluiceway.processors.detectors._named_secret import named_secret_rule
from sluiceway.processors.detectors._rule import Rule, opens_with
from sluiceway.processors.detectors._written import DIGIT_GATE

__all__ = ["api_key_rules"]

# Name, what it begins with, and the rest. Lengths are bounded, so that a stream can hold them.
_KEYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}(?![0-9A-Za-z])"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[0-9A-Za-z]{30,255}+"),
    ("github_fine_grained", ("github_pat_",), r"\w{22,255}+"),
    ("gitlab_token", ("glpat-", "gldt-", "glrt-"), r"[\w-]{20,255}+"),
    ("anthropic_key", ("sk-ant-",), r"[\w-]{20,255}+"),
    ("openrouter_key", ("sk-or-",), r"[\w-]{20,255}+"),
    ("openai_key", ("sk-",), r"(?=[\w-]{0,40}[0-9])[\w-]{20,255}+"),
    ("stripe_key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"), r"[0-9A-Za-z]{10,255}+"),
    ("stripe_webhook", ("whsec_",), r"[0-9A-Za-z]{24,255}+"),
    ("slack_token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[0-9A-Za-z-]{10,255}+"),
    ("slack_webhook", ("https://hooks.slack.com/",), r"(?:services|workflows)/[\w/]{20,120}+"),
    ("google_api_key", ("AIza",), r"[\w-]{35}(?![\w-])"),
    ("google_oauth", ("ya29.", "GOCSPX-"), r"[\w-]{20,500}+"),
    ("twilio_key", ("AC", "SK"), r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("sendgrid_key", ("SG.",), r"[\w-]{16,32}\.[\w-]{16,64}+"),
    ("mailgun_key", ("key-",), r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("npm_token", ("npm_",), r"[0-9A-Za-z]{36}(?![0-9A-Za-z])"),
    ("pypi_token", ("pypi-",), r"[\w-]{50,255}+"),
    ("huggingface_token", ("hf_",), r"[0-9A-Za-z]{30,40}(?![0-9A-Za-z])"),
    ("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}(?![0-9A-Za-z])"),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9A-Fa-f]{32}(?![0-9A-Za-z])"),
    ("databricks_token", ("dapi",), r"[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])"),
    ("docker_token", ("dckr_pat_",), r"[\w-]{27}(?![\w-])"),
    ("linear_key", ("lin_api_",), r"[0-9A-Za-z]{40}(?![0-9A-Za-z])"),
    ("notion_token", ("ntn_", "secret_"), r"[0-9A-Za-z]{43,50}(?![0-9A-Za-z])"),
    ("sentry_token", ("sntrys_", "sntryu_"), r"[\w+/=-]{30,255}+"),
    ("doppler_token", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), r"[\w.]{38,64}+"),
    ("atlassian_token", ("ATATT3", "ATCTT3"), r"[\w=-]{50,255}+"),
    ("figma_token", ("figd_",), r"[\w-]{38,60}+"),
    ("grafana_token", ("glsa_", "glc_"), r"[\w+/=-]{30,255}+"),
    ("vault_token", ("hvs.", "hvb.", "hvr."), r"[\w-]{20,255}+"),
    ("new_relic_key", ("NRAK-", "NRII-", "NRJS-"), r"[0-9A-Za-z_-]{18,64}+"),
    ("postman_key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{34}(?![0-9A-Za-z])"),
    ("pulumi_token", ("pul-",), r"[0-9a-f]{40}(?![0-9A-Za-z])"),
    ("rubygems_key", ("rubygems_",), r"[0-9a-f]{48}(?![0-9A-Za-z])"),
    ("supabase_token", ("sbp_", "sb_secret_"), r"[\w-]{20,64}+"),
    ("planetscale_token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[\w=.-]{32,64}+"),
    ("netlify_token", ("nfp_",), r"[0-9A-Za-z]{36,60}+"),
    ("replicate_token", ("r8_",), r"[0-9A-Za-z]{37}(?![0-9A-Za-z])"),
    ("xai_key", ("xai-",), r"[0-9A-Za-z]{70,90}+"),
    ("perplexity_key", ("pplx-",), r"[0-9A-Za-z]{40,64}+"),
    ("brevo_key", ("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[0-9A-Za-z]{16}(?![0-9A-Za-z])"),
    ("square_token", ("sq0atp-", "sq0csp-", "sq0idp-"), r"[\w-]{22,64}+"),
    ("tailscale_key", ("tskey-",), r"[\w-]{20,80}+"),
    ("contentful_token", ("CFPAT-",), r"[\w-]{43}(?![\w-])"),
    ("airtable_token", ("pat",), r"[0-9A-Za-z]{14}\.[0-9a-f]{64}(?![0-9A-Za-z])"),
    ("age_key", ("AGE-SECRET-KEY-1",), r"[0-9A-Z]{58}(?![0-9A-Za-z])"),
    ("yandex_token", ("AQVN", "y0_"), r"[\w-]{35,60}(?![\w-])"),
    (
        "discord_webhook",
        ("https://discord.com/api/webhooks/", "https://discordapp.com/api/webhooks/"),
        r"[0-9]{15,21}/[\w-]{50,100}+",
    ),
    ("heroku_key", ("HRKU-",), r"[\w-]{36,64}+"),
    ("groq_key", ("gsk_",), r"[0-9A-Za-z]{32,64}+"),
    ("json_web_token", ("eyJ",), r"[\w-]{8,2000}+\.eyJ[\w-]{8,4000}+\.[\w-]{10,1000}+"),
    (
        "private_key",
        ("-----BEGIN ",),
        r"[A-Z0-9 ]{0,30}PRIVATE KEY-----[0-9A-Za-z+/=\s]{0,8000}+(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?+",
    ),
)


def _pattern() -> regex.Pattern[str]:
    arms: list[str] = []
    for name, openings, rest in _KEYS:
        arms.append(rf"(?P<{name}>(?:{'|'.join(map(regex.escape, openings))}){rest})")
    return regex.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(arms)})")


_KNOWN = _pattern()
_KNOWN_GATE = opens_with([opening for _, openings, _ in _KEYS for opening in openings])

# What begins with digits, or with a letter as many words do.
_TELEGRAM = regex.compile(r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[\w-]{32,34}(?![\w-])")
_DISCORD = regex.compile(r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,45}(?![\w.-]*@)")
_DISCORD_GATE = re.compile(r"(?<![\w.-])[MNO](?:[\w-]{23}|[\w-]{0,22}\Z)")


def api_key_rules() -> tuple[Rule, ...]:
    """Return the rules for keys of common services, and for values that a name calls secret."""
    return (
        Rule("api-key", "known-key", _KNOWN, gate=_KNOWN_GATE, score=0.95),
        Rule("api-key", "telegram-token", _TELEGRAM, gate=DIGIT_GATE, needs=":AA", score=0.95),
        Rule("api-key", "discord-token", _DISCORD, gate=_DISCORD_GATE, needs=".", score=0.9),
        named_secret_rule(),
    )
