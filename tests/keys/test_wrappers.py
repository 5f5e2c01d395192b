"""The wrappers that come with the package keep the contract of the seam; what their services answer becomes the documented error."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    KeyRefusedError,
    KeyServiceUnavailableError,
    SealpointError,
    UnknownKeyError,
)
from sealpoint.keys import Keyring, KeyWrapper, KmsRoot, LocalRoot, TransitRoot
from sealpoint.keys.wrapping import canonical, data_key_context
from tests.keys.services import Kms, Transit, kms_client
from tests.keys.wrapper_contract import CONTEXT, GeneratorContract, WrapperContract
from tests.services import free_ports

ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


class TestLocalRoot(WrapperContract):
    @pytest.fixture
    def wrapper(self) -> KeyWrapper:
        return LocalRoot(Keyring.generate("master"))

    @pytest.fixture
    def other(self) -> KeyWrapper:
        return LocalRoot(Keyring.generate("master"))


@pytest.mark.services
class TestKmsRoot(GeneratorContract):
    @pytest.fixture
    def wrapper(self, kms: Kms) -> KeyWrapper:
        return kms.root()

    @pytest.fixture
    def other(self, kms: Kms) -> KeyWrapper:
        return kms.root()


@pytest.mark.services
class TestTransitRoot(WrapperContract):
    @pytest.fixture
    def wrapper(self, transit: Transit) -> KeyWrapper:
        return transit.root()

    @pytest.fixture
    def other(self, transit: Transit) -> KeyWrapper:
        return transit.root()


@pytest.mark.services
class TestDerivedTransitRoot(WrapperContract):
    @pytest.fixture
    def wrapper(self, transit: Transit) -> KeyWrapper:
        return TransitRoot(transit.new_key(derived=True), client=transit.client)

    @pytest.fixture
    def other(self, transit: Transit) -> KeyWrapper:
        return TransitRoot(transit.new_key(derived=True), client=transit.client)


def test_the_canonical_context_has_one_reading() -> None:
    forms = [canonical(context) for context in ({}, {"a": "b"}, {"a": "", "b": ""}, {"ab": ""}, {"a": "bc"}, {"": "ab"})]
    assert len(set(forms)) == len(forms)
    assert canonical({"b": "2", "a": "1"}) == canonical({"a": "1", "b": "2"})


@pytest.mark.parametrize("scope", ["x" * 1025, "\udc80"], ids=["long", "not text"])
def test_a_scope_that_no_service_takes_is_refused_before_any_call(scope: str) -> None:
    with pytest.raises(ConfigurationError, match="scope"):
        data_key_context(scope, "k")


def test_a_local_root_rotates_like_a_keyring() -> None:
    old = Keyring({"a": b"a" * 32}, active="a")
    both = Keyring({"b": b"b" * 32, "a": b"a" * 32}, active="b")
    wrapped = LocalRoot(old).wrap(b"k" * 32, CONTEXT)
    assert LocalRoot(both).unwrap(wrapped, CONTEXT) == b"k" * 32
    with pytest.raises(UnknownKeyError):
        LocalRoot(old).unwrap(LocalRoot(both).wrap(b"k" * 32, CONTEXT), CONTEXT)


# --- AWS KMS ------------------------------------------------------------------------------------------------------


def _stubbed(kms_answers: list[tuple[str, str, int]]) -> tuple[KmsRoot, Any]:
    """A root whose client answers with these errors: operation, code, HTTP status."""
    from botocore.stub import Stubber

    client = kms_client("http://127.0.0.1:9")
    stubber = Stubber(client)
    for operation, code, status in kms_answers:
        stubber.add_client_error(operation, code, "who asked: arn:aws:iam::111122223333:user/ada", status)
    stubber.activate()
    return KmsRoot(ARN, client=client), stubber


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("InvalidCiphertextException", 400, AuthenticationError),
        ("IncorrectKeyException", 400, AuthenticationError),
        ("DisabledException", 400, KeyRefusedError),
        ("KMSInvalidStateException", 400, KeyRefusedError),  # pending deletion
        ("NotFoundException", 400, KeyRefusedError),  # deleted
        ("AccessDeniedException", 400, KeyRefusedError),
        ("ExpiredTokenException", 400, KeyRefusedError),
        ("UnrecognizedClientException", 400, KeyRefusedError),
        ("ThrottlingException", 400, KeyServiceUnavailableError),
        ("KeyUnavailableException", 500, KeyServiceUnavailableError),
        ("DependencyTimeoutException", 503, KeyServiceUnavailableError),
        ("KMSInternalException", 500, KeyServiceUnavailableError),
        ("SomethingNew", 503, KeyServiceUnavailableError),
        ("SomethingNew", 400, KeyRefusedError),
    ],
)
def test_what_kms_answers_becomes_the_documented_error(code: str, status: int, expected: type[SealpointError]) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    root, _ = _stubbed([("decrypt", code, status)])
    with pytest.raises(expected) as caught:
        root.unwrap(b"x" * 100, CONTEXT)
    assert "ada" not in str(caught.value)


@pytest.mark.parametrize("code", ["DisabledException", "KMSInvalidStateException", "NotFoundException"])
def test_nothing_is_generated_under_a_disabled_or_deleted_kms_key(code: str) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    root, _ = _stubbed([("generate_data_key", code, 400)])
    with pytest.raises(KeyRefusedError, match="enabled and not pending deletion"):
        root.generate(CONTEXT)


# moto cannot decrypt what a multi-Region key encrypted (it cuts the key's longer id), so the request is what is asserted.
@pytest.mark.parametrize(
    "key_id", [ARN, "arn:aws:kms:us-east-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab", "alias/checkpoints"]
)
def test_decrypt_sends_the_configured_key_id_and_the_context(key_id: str) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    root, stubber = _stubbed([])
    stubber.add_response(
        "decrypt",
        {"Plaintext": b"k" * 32, "KeyId": ARN},
        {"KeyId": key_id, "CiphertextBlob": b"blob", "EncryptionContext": CONTEXT},
    )
    assert KmsRoot(key_id, client=root._client.get()).unwrap(b"blob", CONTEXT) == b"k" * 32
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    "key_id",
    [
        ARN,
        "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab",
        "arn:aws:kms:eu-west-1:111122223333:alias/checkpoints",
        "alias/checkpoints",
        "mrk-1234abcd12ab34cd56ef1234567890ab",
        "1234abcd-12ab-34cd-56ef-1234567890ab",
    ],
)
def test_every_form_of_a_kms_key_id_is_taken(key_id: str) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    assert KmsRoot(key_id, client=kms_client("http://127.0.0.1:9")).key_id == key_id


@pytest.mark.parametrize("key_id", ["", "arn:aws:s3:::bucket", "a b", "arn:aws:kms:eu-west-1:1:key/x"])
def test_what_is_no_kms_key_id_is_refused(key_id: str) -> None:
    with pytest.raises(ConfigurationError, match="ARN"):
        KmsRoot(key_id)


def test_a_client_is_made_for_the_region_of_the_arn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    for variable in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    client = KmsRoot(ARN)._client.get()
    assert client.meta.region_name == "eu-west-1"
    assert client.meta.config.retries["mode"] == "standard"
    with pytest.raises(ConfigurationError, match="Region"):
        KmsRoot("alias/checkpoints")


@pytest.mark.services
def test_an_alias_opens_what_its_key_wrapped(kms: Kms) -> None:
    arn = kms.new_key()
    kms.client.create_alias(AliasName="alias/checkpoints", TargetKeyId=arn)
    by_alias, by_arn = (KmsRoot(key_id, client=kms.client) for key_id in ("alias/checkpoints", arn))
    key, wrapped = by_alias.generate(CONTEXT)
    assert by_arn.unwrap(wrapped, CONTEXT) == key
    assert by_alias.unwrap(wrapped, CONTEXT) == key


def test_a_kms_out_of_reach_is_worth_a_retry() -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed")
    root = KmsRoot(ARN, client=kms_client(f"http://127.0.0.1:{free_ports(1)[0]}"))
    with pytest.raises(KeyServiceUnavailableError):
        root.wrap(b"k" * 32, CONTEXT)


def test_missing_credentials_are_told_apart_from_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    from botocore.credentials import CredentialResolver

    monkeypatch.setattr(CredentialResolver, "load_credentials", lambda _self: None)
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    client = boto3.session.Session().client("kms", region_name="eu-west-1")
    with pytest.raises(KeyRefusedError, match="credentials"):
        KmsRoot(ARN, client=client).wrap(b"k" * 32, CONTEXT)


# --- transit ------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_an_unknown_transit_key_is_refused_and_not_made(transit: Transit) -> None:
    with pytest.raises(KeyRefusedError, match="no transit key 'mistyped'"):
        TransitRoot("mistyped", client=transit.admin).wrap(b"k" * 32, CONTEXT)
    assert "mistyped" not in transit.admin.secrets.transit.list_keys()["data"]["keys"]


@pytest.mark.services
def test_a_deleted_transit_key_is_refused(transit: Transit) -> None:
    name = transit.new_key()
    root = TransitRoot(name, client=transit.client)
    wrapped = root.wrap(b"k" * 32, CONTEXT)
    transit.admin.secrets.transit.update_key_configuration(name=name, deletion_allowed=True)
    transit.admin.secrets.transit.delete_key(name=name)
    with pytest.raises(KeyRefusedError):
        root.unwrap(wrapped, CONTEXT)
    with pytest.raises(KeyRefusedError):
        root.wrap(b"k" * 32, CONTEXT)


@pytest.mark.services
def test_an_expired_token_is_refused_and_a_new_one_goes_on(transit: Transit) -> None:
    client = transit.app_client(ttl="1s")
    root = TransitRoot(transit.new_key(), client=client)
    wrapped = root.wrap(b"k" * 32, CONTEXT)
    deadline = time.monotonic() + 10
    while True:
        try:
            root.unwrap(wrapped, CONTEXT)
        except KeyRefusedError as exc:
            assert "expired" in str(exc)  # noqa: PT017  # the wait ends in this very error
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    client.token = transit.client.token
    assert root.unwrap(wrapped, CONTEXT) == b"k" * 32


@pytest.mark.services
def test_a_token_that_may_not_decrypt_only_wraps(transit: Transit) -> None:
    import hvac

    policy = 'path "transit/encrypt/*" { capabilities = ["update"] }'
    transit.admin.sys.create_or_update_policy(name="sealer", policy=policy)
    token = transit.admin.auth.token.create(policies=["sealer"], ttl="1h")["auth"]["client_token"]
    root = TransitRoot(transit.new_key(), client=hvac.Client(url=transit.url, token=token, timeout=10))
    wrapped = root.wrap(b"k" * 32, CONTEXT)
    with pytest.raises(KeyRefusedError, match="policy"):
        root.unwrap(wrapped, CONTEXT)


@pytest.mark.services
def test_an_old_version_of_a_transit_key_can_be_shut_out_by_either_side(transit: Transit) -> None:
    name = transit.new_key()
    root = TransitRoot(name, client=transit.client)
    wrapped = root.wrap(b"k" * 32, CONTEXT)
    transit.admin.secrets.transit.rotate_key(name=name)
    assert root.unwrap(wrapped, CONTEXT) == b"k" * 32
    with pytest.raises(KeyRefusedError, match="below 2"):
        TransitRoot(name, client=transit.client, min_version=2).unwrap(wrapped, CONTEXT)
    transit.admin.secrets.transit.update_key_configuration(name=name, min_decryption_version=2)
    with pytest.raises(KeyRefusedError, match="min_decryption_version"):
        root.unwrap(wrapped, CONTEXT)


@pytest.mark.services
def test_a_transit_key_that_cannot_bind_a_context_is_refused(transit: Transit) -> None:
    root = TransitRoot(transit.new_key(key_type="rsa-2048"), client=transit.client)
    with pytest.raises(KeyRefusedError, match="AEAD"):
        root.wrap(b"k" * 32, CONTEXT)


def test_a_transit_engine_out_of_reach_is_worth_a_retry() -> None:
    hvac = pytest.importorskip("hvac", reason="hvac is not installed")
    root = TransitRoot("key", client=hvac.Client(url=f"http://127.0.0.1:{free_ports(1)[0]}", token="t", timeout=2))
    with pytest.raises(KeyServiceUnavailableError):
        root.unwrap(b"vault:v1:AAAA", CONTEXT)


@pytest.mark.services
def test_the_client_from_the_environment_works_and_retries(transit: Transit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULT_ADDR", raising=False)
    with pytest.raises(ConfigurationError, match="VAULT_ADDR"):
        TransitRoot("key")
    monkeypatch.setenv("VAULT_ADDR", transit.url)
    monkeypatch.setenv("VAULT_TOKEN", transit.client.token)
    root = TransitRoot(transit.new_key())
    assert root.unwrap(root.wrap(b"k" * 32, CONTEXT), CONTEXT) == b"k" * 32
    retries = root._client.get().adapter.session.get_adapter(transit.url).max_retries
    assert retries.total > 0
    assert retries.is_retry("POST", 429)


def test_malformed_transit_names_are_refused() -> None:
    for name in ("", "a/b", "../sys/x", "a b"):
        with pytest.raises(ConfigurationError):
            TransitRoot(name, client=object())


def test_a_wrapper_of_ones_own_is_a_class_of_two_methods() -> None:
    class Mine:
        def wrap(self, key: bytes, context: object) -> bytes:
            return key[::-1]

        def unwrap(self, wrapped: bytes, context: object) -> bytes:
            return wrapped[::-1]

    assert isinstance(Mine(), KeyWrapper)
    assert not isinstance(object(), KeyWrapper)
