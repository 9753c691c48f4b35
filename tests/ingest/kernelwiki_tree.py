"""A small KernelWiki of our own, with a case of everything that forks do."""

from pathlib import Path
from typing import Any

import yaml

LEDGER = """repo: acme/kernels
searched_at: '2026-05-20'
keywords_used: [gemm]
total_candidates: 3
included: 2
excluded: 1
deferred: 0
prs:
- {number: 7, title: Fast path, date: '2026-05-01', decision: include, reason: kernel, files_changed: []}
- number: 8
  pr: 8
  title: Long row
  decision: INCLUDE
  reason: seed
  score: 4.5
  categories: [gemm]
- {number: 9, decision: exclude, reason: docs only}
"""
SKIPS = """rows:
- {pr_id: pr-kernels-8, repo: acme/kernels, pr_number: 8, stage: pre-fetch, reason: no data,
   recorded_at: '2026-05-20'}
"""
TAGS = """architectures:
- {id: zeta3, gpus: [Zeta X], gfx: [zx942]}
hardware_features:
  quagga-unit: {description: Multiplies stripes., min_arch: zeta3}
techniques: [swizzling, okapi-tiling]
kernel_types: [gemm]
languages: [cuda-cpp]
confidence: [verified, source-reported]
"""
ALIASES = """okapi-tiling: [okapi tiles, "okapi::2"]
hardware:
  "stripe engine": quagga-unit
tcgen05: [wgmma]
"""
VERSIONS = """claims:
- {id: vs-zeta-2, tool: zeta, claim_valid_for: '>=2.0', notes: Zeta 2 has stripes.,
   applies_to: [wiki/kernels/okapi.md], source_ids: [doc-zeta]}
"""
TOOLS = """tools:
- tool: zeta
  releases: [{name: 2.0, released_at: 2026-01-02, channel: stable}]
"""
KERNEL: dict[str, Any] = {
    "id": "kernel-okapi",
    "title": "Okapi kernel",
    "type": "kernel",
    "architectures": ["zeta3"],
    "tags": ["gemm", "okapi-tiling", "never-listed"],
    "confidence": "source-reported",
    "related": ["kernel-nowhere"],
    "sources": ["doc-zeta"],
    "aliases": ["Quokka MM", "quokka mm"],
    "operator_recipe": {"tiling": {"m": 128}},
    "artifact_dir": "artifacts/kernels/okapi",
    "performance_claims": [
        {"gpu": "B200", "dtype": "bf16", "shape": "M=64 N=128", "metric": "latency_us",
         "value": 18.5, "source_id": "doc-zeta"},
        {"gpu": "B200", "metric": "latency", "value": "0.25 ms", "source_id": "doc-zeta"},
        {"gpu": "B200", "dtype": "fp8", "metric": "TFLOPS", "value": 90000, "source_id": "doc-zeta"},
    ],
}  # fmt: skip
PULL_REQUEST: dict[str, Any] = {
    "id": "pr-kernels-7",
    "repo": "acme/kernels",
    "pr": 7,
    "title": "Fast path",
    "date": "2026-05-01",
    "url": "https://github.com/acme/kernels/pull/7",
    "source_category": "upstream-code",
    "architectures": ["sm100"],
    "tags": ["gemm"],
    "status": "merged",
    "merge_sha": "12345678",
}
CONTEST: dict[str, Any] = {
    "id": "contest-stripes",
    "title": "Stripes",
    "source_category": "contest-report",
    "tags": ["gemm"],
    "submissions": [
        {"rank": 1, "participant": "A. Zorse", "score": "~22.4us geomean",
         "submission_truth": "unavailable", "code_unavailable_reason": "never shared"},
        {"rank": "notable", "participant": "cheat", "score": "1.5us (invalid)"},
    ],
}  # fmt: skip


def page(fields: dict[str, Any], body: str = "\n# Text\n") -> bytes:
    return f"---\n{yaml.safe_dump(fields, sort_keys=False)}---\n{body}".encode()


def write(root: Path, files: dict[str, bytes | str]) -> Path:
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def make_tree(root: Path) -> Path:
    code = "__global__ void okapi() {}\n"
    return write(
        root,
        {
            "wiki/kernels/okapi.md": page(KERNEL),
            "wiki/hardware/tma.md": page(
                {"id": "hw-tma", "title": "Theirs", "type": "wiki-hardware"}
            ),
            "wiki/ks/deep/SKILL.md": "---\nname: skill\n---\nNo id.\n",
            "wiki/zeta/hardware/stripes.md": "# Stripes\n\nNo front matter, by /home/jane/x.\n",
            "sources/docs/zeta.md": page(
                {"id": "doc-zeta", "title": "Zeta", "url": "https://example.org"},
                "\nTakes 0.25 ms in all; 90,000 for numbats at best.\n",
            ),
            "sources/prs/kernels/PR-7.md": page(PULL_REQUEST, "\n## Summary\r\n\r\nfast\r\n"),
            "sources/contests/zoo/stripes.md": page(CONTEST),
            "sources/lectures/one.md": page({"id": "lecture-one", "title": "One", "author": 1}),
            "candidates/kernels.yaml": LEDGER,
            "data/pr-page-skipped.yaml": SKIPS,
            "data/tags.yaml": TAGS,
            "data/aliases.yaml": ALIASES,
            "data/version-claims.yaml": VERSIONS,
            "data/tool-versions.yaml": TOOLS,
            "artifacts/kernels/okapi/full/okapi.cu": code,
            "artifacts/kernels/okapi/full/PROVENANCE.yaml": yaml.safe_dump(
                {
                    "asset_mode": "verbatim",
                    "license": "MIT",
                    "upstream_repo": "acme/kernels",
                    "upstream_sha": "ab" * 20,
                    "files": [
                        {"local_path": "okapi.cu", "role": "upstream-file", "sha256": "0" * 64},
                        {"local_path": "../../../../etc/passwd", "sha256": "1" * 64},
                    ],
                }
            ),
            "README.md": "# Read me\n",
        },
    )
