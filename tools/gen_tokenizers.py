# SPDX-License-Identifier: Apache-2.0
"""Train small tokenizers of every kind with PyPI's `tokenizers`, and record what it makes of texts:
tests/golden/text/NAME.json and NAME.answers.json.

Usage: python -m tools.gen_tokenizers [FOLDER], in an environment with `tokenizers`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.make_charsmap import charsmap

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden" / "text"
SEED = 20261129

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_POSSESSIVE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s"
)

TEXTS = [
    "",
    " ",
    "\n",
    "  two  spaces ",
    "Hello, world! It's Tom's 3rd try; we'll see 12345 things.",
    "WE'LL'VE DON'T ſ'ſ can't 'RE",
    "tabs\tand\r\nnewlines\n\n\n   indented\n  end  ",
    "ÀÉÎ õü ñ Å\u030a e\u0301\u0323 \u1e9b\u0323 ﬁ ℌ ½ ① ﷺ",
    "한국어 \u1112\u1161\u11ab 日本語の文 中文字符 ไทย हिन्दी العربية עברית",
    "🙂 👩‍👩‍👧 🇩🇪🇫🇷 © ® ™ ©\u200d☕",
    "\x00\x01\x7f\x85\xa0\u2028\u2029\u3000\ufeff\ufffd\u200b",
    "<s>x</s> [CLS] a[MASK]b [MASK] <mask> <|end|> <|end|>",
    "<pad> under_score x1y2 ١٢٣ ²³ Ⅷ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a\u0300\u0301\u0302\u0316\u0317\u0334b \u0344 \u0958 \ud7a3",
    "▁ already ▁marked▁ <0x41><0xE2>",
    "\r\n\r\n \r \n\t\t x",
    "The quick brown fox. The  lazy dog ? ! , n't do not 'm 's",
    "𝐀𝒷 \U0001f1e6 \U000e0041 \U0010fffd ﬀ ﬆ ß ẞ İ ı",
]


def corpus() -> Iterator[str]:
    """Lines of the standard library's sources."""
    for name in ("textwrap", "json.decoder", "heapq", "string", "this", "calendar"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        yield from Path(spec.origin).read_text(encoding="utf-8").splitlines()
    yield from (t for t in TEXTS if "<" not in t)


def _special(tk: Any, *names: str, **more: bool) -> list[Any]:
    return [tk.AddedToken(name, special=True, normalized=False, **more) for name in names]


def recipes(tk: Any) -> dict[str, Callable[[], Any]]:
    """Name -> a function that trains the tokenizer."""
    m, n, p, d, pp, t = (
        *(tk.models, tk.normalizers, tk.pre_tokenizers),
        *(tk.decoders, tk.processors, tk.trainers),
    )
    byte_alphabet = p.ByteLevel.alphabet()

    def split(pattern: str) -> Any:
        return p.Split(tk.Regex(pattern), "isolated")

    def byte_level(pattern: str | None, normalizer: Any = None, **options: Any) -> Any:
        tok = tk.Tokenizer(m.BPE(**options))
        tok.normalizer = normalizer
        byte = p.ByteLevel(add_prefix_space=pattern is None, use_regex=pattern is None)
        tok.pre_tokenizer = byte if pattern is None else p.Sequence([split(pattern), byte])
        tok.decoder = d.ByteLevel()
        tok.train_from_iterator(
            corpus(),
            t.BpeTrainer(vocab_size=600, initial_alphabet=byte_alphabet, show_progress=False),
        )
        tok.add_special_tokens(_special(tk, "<|end|>", "<pad>"))
        tok.add_special_tokens(_special(tk, "<mask>", lstrip=True, rstrip=True))
        tok.add_tokens([tk.AddedToken("under_score", single_word=True, normalized=True)])
        return tok

    def gpt2() -> Any:
        tok = byte_level(None)
        tok.post_processor = pp.ByteLevel(trim_offsets=False)
        return tok

    def roberta() -> Any:
        tok = byte_level(None)
        tok.add_special_tokens(_special(tk, "<s>", "</s>"))
        ids = [(s, tok.token_to_id(s)) for s in ("</s>", "<s>")]
        tok.post_processor = pp.RobertaProcessing(*ids)
        return tok

    def llama3() -> Any:
        tok = byte_level(_LLAMA3, ignore_merges=True)
        end = tok.token_to_id("<|end|>")
        template = pp.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", end)])
        tok.post_processor = pp.Sequence([pp.ByteLevel(trim_offsets=False), template])
        return tok

    def llama2() -> Any:
        tok = tk.Tokenizer(m.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        tok.normalizer = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
        bytes_ = [f"<0x{b:02X}>" for b in range(256)]
        tok.train_from_iterator(
            (line.replace(" ", "▁") for line in corpus()),
            t.BpeTrainer(
                vocab_size=800,
                special_tokens=["<unk>", "<s>", "</s>", *bytes_],
                show_progress=False,
            ),
        )
        tok.decoder = d.Sequence(
            [d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)]
        )
        data = json.loads(tok.to_str())
        # Bytes are ordinary tokens in files of the field.
        data["added_tokens"] = [
            a for a in data["added_tokens"] if not a["content"].startswith("<0x")
        ]
        tok = tk.Tokenizer.from_str(json.dumps(data))
        tok.post_processor = pp.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
        return tok

    def gemma() -> Any:
        tok = llama2()
        tok.normalizer = n.Replace(" ", "▁")
        tok.pre_tokenizer = p.Split(" ", "merged_with_previous")
        tok.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse()])
        tok.post_processor = None
        return tok

    def mistral() -> Any:
        tok = llama2()
        tok.normalizer = None
        tok.pre_tokenizer = p.Metaspace("▁", prepend_scheme="first", split=False)
        return tok

    def unk_not_fused() -> Any:
        tok = tk.Tokenizer(m.BPE(unk_token="?"))
        tok.pre_tokenizer = p.Sequence(
            [p.WhitespaceSplit(), p.Punctuation("contiguous"), p.Digits(True)]
        )
        tok.train_from_iterator(
            (line for line in corpus() if line.isascii()),
            t.BpeTrainer(vocab_size=300, special_tokens=["?"], show_progress=False),
        )
        return tok

    def clip() -> Any:
        tok = tk.Tokenizer(
            m.BPE(unk_token="<|end|>", end_of_word_suffix="</w>", continuing_subword_prefix="")
        )
        tok.normalizer = n.Sequence([n.NFC(), n.Replace(tk.Regex(r"\s+"), " "), n.Lowercase()])
        tok.pre_tokenizer = p.Split(
            tk.Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
            "removed",
            invert=True,
        )
        tok.train_from_iterator(
            (line for line in corpus() if line.isascii()),
            t.BpeTrainer(
                vocab_size=400,
                special_tokens=["<|end|>"],
                end_of_word_suffix="</w>",
                show_progress=False,
            ),
        )
        return tok

    def bert(**options: Any) -> Any:
        tok = tk.Tokenizer(m.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        tok.normalizer = n.BertNormalizer(**options)
        tok.pre_tokenizer = p.BertPreTokenizer()
        tok.decoder = d.WordPiece(cleanup=True)
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        tok.train_from_iterator(
            corpus(), t.WordPieceTrainer(vocab_size=500, special_tokens=names, show_progress=False)
        )
        around = [(s, tok.token_to_id(s)) for s in ("[CLS]", "[SEP]")]
        tok.post_processor = pp.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
        return tok

    def bert_processing() -> Any:
        tok = bert(lowercase=False, strip_accents=True)
        ids = [(s, tok.token_to_id(s)) for s in ("[SEP]", "[CLS]")]
        tok.post_processor = pp.BertProcessing(*ids)
        tok.add_tokens(["brown fox", tk.AddedToken("Tom", single_word=True)])
        return tok

    def unigram(normalizer: Any, pre: Any, decoder: Any, byte_fallback: bool = False) -> Any:
        tok = tk.Tokenizer(m.Unigram())
        tok.normalizer, tok.pre_tokenizer, tok.decoder = normalizer, pre, decoder
        names = ["<unk>", "<s>", "</s>"]
        tok.train_from_iterator(
            corpus(),
            t.UnigramTrainer(
                vocab_size=400, special_tokens=names, unk_token="<unk>", show_progress=False
            ),
        )
        if byte_fallback:
            data = json.loads(tok.to_str())
            data["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
            data["model"]["byte_fallback"] = True
            tok = tk.Tokenizer.from_str(json.dumps(data))
        return tok

    def xlm() -> Any:
        pre = p.Sequence([p.WhitespaceSplit(), p.Metaspace("▁", prepend_scheme="always")])
        charsmap = n.Precompiled(_charsmap())
        norm = n.Sequence([charsmap, n.Replace(tk.Regex(" {2,}"), " ")])
        return unigram(norm, pre, d.Metaspace("▁", prepend_scheme="always"))

    def t5() -> Any:
        norm = n.Sequence([n.Nmt(), n.NFKC(), n.Strip(), n.Replace(tk.Regex(" {2,}"), " ")])
        pre = p.Metaspace("▁", prepend_scheme="always")
        return unigram(norm, pre, d.Metaspace("▁", prepend_scheme="always"))

    def albert() -> Any:
        norm = n.Sequence(
            [
                n.Replace("``", '"'),
                n.NFKD(),
                n.StripAccents(),
                n.Lowercase(),
                n.Strip(left=True, right=False),
            ]
        )
        return unigram(
            norm, p.Metaspace("_", prepend_scheme="never"), d.Metaspace("_", prepend_scheme="never")
        )

    def fallback() -> Any:
        pre = p.Metaspace("▁", prepend_scheme="first", split=False)
        chain = d.Sequence([d.ByteFallback(), d.Metaspace("▁", prepend_scheme="first")])
        return unigram(None, pre, chain, byte_fallback=True)

    def words() -> Any:
        tok = tk.Tokenizer(m.WordLevel(unk_token="?"))
        tok.normalizer = n.Sequence([n.NFD(), n.Lowercase()])
        tok.pre_tokenizer = p.Sequence(
            [p.Whitespace(), p.Digits(False), p.Punctuation("merged_with_next")]
        )
        tok.train_from_iterator(
            corpus(), t.WordLevelTrainer(vocab_size=300, special_tokens=["?"], show_progress=False)
        )
        return tok

    return {
        "gpt2": gpt2,
        "roberta": roberta,
        "llama3": llama3,
        "qwen": lambda: byte_level(_LLAMA3.replace("{1,3}", ""), n.NFC()),
        "cased": lambda: byte_level(_CASED),
        "possessive": lambda: byte_level(_POSSESSIVE),
        "llama2": llama2,
        "gemma": gemma,
        "mistral": mistral,
        "unk_not_fused": unk_not_fused,
        "clip": clip,
        "bert": bert,
        "bert_processing": bert_processing,
        "xlm": xlm,
        "t5": t5,
        "albert": albert,
        "fallback": fallback,
        "words": words,
    }


def _charsmap() -> bytes:
    """A charsmap in the form of sentencepiece with some of the rules of its nmt_nfkc."""
    rules = {
        "\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\x01": "", "ﬁ": "fi", "½": "1⁄2",
        "e\u0301": "é", "A\u030a": "Å", "①": "1", "™": "TM", "\u200b": " ", "\u200d": "", "Å": "Å", "©": "(c)",
    }  # fmt: skip
    return charsmap({key.encode(): value for key, value in rules.items()})


def answers(tok: Any, seed: int) -> list[dict[str, Any]]:
    """What `tokenizers` makes of texts, and of ids of its own and at random."""
    rng = random.Random(seed)
    rows = []
    texts = list(TEXTS)
    for _ in range(40):
        texts.append(
            "".join(rng.choice(rng.choice(TEXTS) or "x") for _ in range(rng.randrange(1, 60)))
        )
    for text in texts:
        ids = tok.encode(text).ids
        rows.append({"text": text, "ids": ids, "decoded": tok.decode(ids)})
        plain = tok.encode(text, add_special_tokens=False).ids
        rows[-1] |= {} if plain == ids else {"plain": plain}
    for _ in range(40):
        ids = [rng.randrange(tok.get_vocab_size() + 3) for _ in range(rng.randrange(1, 30))]
        whole = tok.decode(ids, skip_special_tokens=False)
        rows.append({"ids": ids, "decoded": tok.decode(ids), "whole": whole})
    return rows


def main() -> int:
    tk = importlib.import_module("tokenizers")  # not a dependency of this project

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, train in recipes(tk).items():
        tok = train()
        data = json.loads(tok.to_str())
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        tok = tk.Tokenizer.from_str(text)
        lines = [json.dumps(row, ensure_ascii=True) for row in answers(tok, SEED)]
        (folder / f"{name}.answers.json").write_text(
            "[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
