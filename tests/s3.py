"""Buckets and clients for tests against a real S3 server."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.services import ACCESS, SECRET, Service


def credentials(monkeypatch: pytest.MonkeyPatch, access: str = ACCESS, secret: str = SECRET) -> None:
    """Credentials and region in the environment, as boto3 takes them; nothing of the developer's machine is read."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": access,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


def new_bucket(service: Service, client: Any = None) -> str:
    """A new, empty bucket."""
    from sealpoint.stores.s3 import make_client

    name = f"b-{secrets.token_hex(6)}"
    own = client or make_client(service.url)
    own.create_bucket(Bucket=name)
    if client is None:
        own.close()
    return name
