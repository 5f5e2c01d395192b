"""Clients of the real key services that the tests start (see conftest.py); nothing is started here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sealpoint.keys import KmsRoot, TransitRoot

REGION = "eu-west-1"


@dataclass
class Kms:
    """A KMS with a client that counts requests as they leave, retries included."""

    client: Any
    wire: Counter[str] = field(default_factory=Counter)

    def new_key(self) -> str:
        """The ARN of a new KMS key."""
        arn: str = self.client.create_key()["KeyMetadata"]["Arn"]
        self.wire.clear()
        return arn

    def root(self) -> KmsRoot:
        return KmsRoot(self.new_key(), client=self.client)


def kms_client(endpoint: str, *, attempts: int = 1) -> Any:
    """A boto3 client of the KMS at `endpoint`."""
    import boto3
    from botocore.config import Config

    config = Config(retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=2, read_timeout=10)
    return boto3.client(
        "kms", endpoint_url=endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test", config=config
    )


@dataclass
class Transit:
    """An OpenBao with a transit engine. `admin` may do all; `client` may use keys and not make them."""

    url: str
    admin: Any
    client: Any
    _made: int = 0

    def new_key(self, **options: Any) -> str:
        """The name of a new transit key."""
        self._made += 1
        name = f"key-{self._made}"
        self.admin.secrets.transit.create_key(name=name, **options)
        return name

    def root(self) -> TransitRoot:
        return TransitRoot(self.new_key(), client=self.client)

    def app_client(self, ttl: str = "1h") -> Any:
        """A client whose token may use keys, not make them, and lives for `ttl`."""
        import hvac

        token = self.admin.auth.token.create(policies=["app"], ttl=ttl)["auth"]["client_token"]
        return hvac.Client(url=self.url, token=token, timeout=10)
