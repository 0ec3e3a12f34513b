"""Signatures of checkpoints: Ed25519, by the library `cryptography` (the extra ``signing``).

Who should sign? Not the machine that charges: whoever can write the ledger could sign a rewritten one. An auditor, or a
steward with the key on another machine, takes the checkpoint, looks at the audit, and signs. Keys are PEM files, so any
tool makes and keeps them: ``openssl genpkey -algorithm ed25519``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dosimeter.errors import InputError, LedgerCorrupt
from dosimeter.ledger.checkpoint import Checkpoint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class KeyPair(NamedTuple):
    """A private key and its public half, each as the bytes of a PEM file."""

    private_pem: bytes
    public_pem: bytes


def new_key_pair() -> KeyPair:
    """A new Ed25519 key from the operating system's randomness."""
    _, ed25519, form = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(private, public)


def sign(checkpoint: Checkpoint, private_pem: bytes, *, passphrase: str | None = None) -> Checkpoint:
    """The checkpoint with a signature and the signer's public key, in place of any it had.

    Args:
        checkpoint: what to vouch for.
        private_pem: the private key, as the bytes of its PEM file.
        passphrase: if the key's file is encrypted.

    Raises:
        InputError: the key cannot be read, or is not Ed25519.
    """
    key = _private(private_pem, passphrase)
    unsigned = replace(checkpoint, public_key=_raw(key.public_key()).hex(), signature=None)
    return replace(unsigned, signature=key.sign(unsigned.message()).hex())


def verify(checkpoint: Checkpoint, public_pem: bytes) -> None:
    """Check that whoever holds the private half of `public_pem` signed exactly this checkpoint.

    Raises:
        InputError: the key cannot be read, or the checkpoint is unsigned or signed by another key.
        LedgerCorrupt: the signature does not fit: the checkpoint was edited after it was signed.
    """
    invalid, _, _ = _library()
    key = _public(public_pem)
    if checkpoint.signature is None:
        raise InputError("this checkpoint is not signed; sign it with `dosimeter checkpoint --sign`, or give no key")
    if checkpoint.public_key != _raw(key).hex():
        raise InputError("this checkpoint was signed by another key; give that signer's public key, if you trust it")
    try:
        key.verify(bytes.fromhex(checkpoint.signature), checkpoint.message())
    except invalid:
        raise LedgerCorrupt("the checkpoint's signature does not fit: it was edited after it was signed") from None


def _library() -> tuple[Any, Any, Any]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError(
            "signatures need the library cryptography, which is not installed; pip install 'dosimeter[signing]'"
        ) from None
    return InvalidSignature, ed25519, serialization


def _private(pem: bytes, passphrase: str | None) -> Ed25519PrivateKey:
    _, ed25519, form = _library()
    try:
        key = form.load_pem_private_key(pem, None if passphrase is None else passphrase.encode())
    except (ValueError, TypeError) as error:  # TypeError: a passphrase is missing, or given and not needed
        what = "its passphrase is missing or not needed" if isinstance(error, TypeError) else "it is damaged or no key"
        raise InputError(f"the private key cannot be read ({what}); give an Ed25519 key in PEM form") from None
    except Exception:  # the library has a tree of its own for algorithms it does not know
        raise InputError("the private key cannot be read; give an Ed25519 key in PEM form") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError("the private key is not an Ed25519 key; make one with `dosimeter signing-key`")
    private: Ed25519PrivateKey = key
    return private


def _public(pem: bytes) -> Ed25519PublicKey:
    _, ed25519, form = _library()
    try:
        key = form.load_pem_public_key(pem)
    except Exception:
        raise InputError("the public key cannot be read; give an Ed25519 public key in PEM form") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InputError("the public key is not an Ed25519 key; make one with `dosimeter signing-key`")
    public: Ed25519PublicKey = key
    return public


def _raw(key: Ed25519PublicKey) -> bytes:
    return bytes(key.public_bytes_raw())
