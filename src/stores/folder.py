"""A store in a local folder: atomic, durable, and safe between processes on one machine; not for network file systems without locks.

One object is one file. A write goes to a file of its own, is flushed, and is then renamed into place, so a reader sees the old object or
the new one. Writers of one key exclude each other by a lock file, which the operating system frees when a process ends. What a killed
writer leaves behind lies in ``.tmp`` and is removed after a day.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from ..errors import ConfigurationError, ConflictError, NotFoundError, StoreAccessError, StoreUnavailableError
from .base import Listed, Stored, can_have_keys, check_condition, check_key
from .blocking import DEFAULT_THREADS, BlockingStore
from .flock import locked, supported

_TMP: Final = ".tmp"
_LOCKS: Final = ".locks"
_STRIPES: Final = 256
_TRIES: Final = 100  # more removals of one empty folder than can come between two steps of one write
_STALE_S: Final = 24 * 3600  # no write takes a day
_PASSING: Final = frozenset({errno.EINTR, errno.EAGAIN, errno.EBUSY, errno.ENOLCK, errno.EMFILE, errno.ENFILE, errno.EIO})


class FolderStore(BlockingStore):
    """An `ObjectStore` in `root`, which is made when it is missing, readable by its owner only.

    Args:
        root: the folder.
        durable: flush files and folders to the disk before a write is acknowledged. Switch it off only for throw-away data.
        threads: how many async calls may be in flight.

    Raises:
        StoreAccessError: the folder cannot be made or entered.
        ConfigurationError: this system has no POSIX file locks.
    """

    def __init__(self, root: str | os.PathLike[str], *, durable: bool = True, threads: int = DEFAULT_THREADS) -> None:
        super().__init__(threads)
        if not supported():  # pragma: no cover - Windows
            raise ConfigurationError("a local folder as a store needs POSIX file locks; on this system use an S3-compatible server")
        self._root = Path(root).absolute()
        self._durable = durable
        with _making(str(self._root)):
            for folder in (self._root, self._root / _TMP, self._root / _LOCKS):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()

    def get(self, key: str) -> Stored:
        """See `sealpoint.stores.Gets.get`."""
        with _translated(key):
            data = self._path(key).read_bytes()
        return Stored(data, _etag(data))

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """See `sealpoint.stores.Puts.put`."""
        check_condition(if_absent, if_match)
        path = self._path(key)
        with _translated(key):
            temporary = self._written(data)
            try:
                with self._locked(key):
                    if if_absent and path.exists():
                        raise ConflictError(f"object {key!r} exists already")
                    if if_match is not None and _current_etag(path) != if_match:
                        raise ConflictError(f"object {key!r} was changed or removed since it was read")
                    self._place(path, lambda: temporary.replace(path))
            finally:
                temporary.unlink(missing_ok=True)
        return _etag(data)

    def list(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> Iterator[Listed]:
        """See `sealpoint.stores.Lists.list`. Folders are read as the listing reaches them."""
        found = self._walk(prefix[: prefix.rfind("/") + 1], prefix, start_after)
        for count, entry in enumerate(found, start=1):
            if limit is not None and count > limit:
                return
            yield entry

    def folders(self, prefix: str = "", *, start_after: str = "") -> Iterator[str]:
        """See `sealpoint.stores.Lists.folders`."""
        with _translated(prefix):
            names = self._names(prefix)
        for name, is_folder in names:
            if is_folder and name > start_after and next(self._walk(f"{prefix}{name}/", "", ""), None) is not None:
                yield name

    def delete_many(self, keys: Iterable[str]) -> None:
        """See `sealpoint.stores.Deletes.delete_many`. Folders that become empty are removed."""
        touched: set[Path] = set()
        for key in keys:
            path = self._path(key)
            with _translated(key), self._locked(key):
                path.unlink(missing_ok=True)
            touched.add(path.parent)
        for folder in touched:
            with _translated(str(folder)):
                self._flush_folder(folder)
                self._drop_empty(folder)

    def __repr__(self) -> str:
        return f"FolderStore({str(self._root)!r})"

    # --- inside ---------------------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    def _written(self, data: bytes) -> Path:
        temporary = self._root / _TMP / secrets.token_hex(16)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if self._durable:
                    os.fsync(descriptor)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def _locked(self, key: str) -> AbstractContextManager[None]:
        """Excludes other writers of this key, and of some others, in all threads and processes."""
        stripe = hashlib.sha256(key.encode("ascii")).digest()[0] % _STRIPES
        return locked(self._root / _LOCKS / f"{stripe:02x}")

    def _place(self, path: Path, put_in_place: Callable[[], object]) -> None:
        """Makes the folders, then runs `put_in_place`; once more when a deleter removed a folder that had become empty in between."""
        for attempt in itertools.count():
            try:
                self._make_folders(path.parent)
                put_in_place()
            except FileNotFoundError:
                if attempt >= _TRIES:
                    raise
            else:
                self._flush_folder(path.parent)
                return

    def _make_folders(self, folder: Path) -> None:
        """`folder` with its parents, each flushed into the one above it."""
        missing: list[Path] = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for made in reversed(missing):
            with contextlib.suppress(FileExistsError):
                made.mkdir(mode=0o700)
            self._flush_folder(made.parent)

    def _flush_folder(self, folder: Path) -> None:
        if not self._durable:
            return
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # a deleter found it empty: what it held is gone, which is what there was to flush
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _drop_empty(self, folder: Path) -> None:
        while folder != self._root:
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError as exc:
                if exc.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return
                raise
            folder = folder.parent

    def _names(self, base: str) -> Sequence[tuple[str, bool]]:
        """Names in the folder `base` ("" or ending with a slash), as the keys below them sort: a folder's go on with a slash."""
        if not can_have_keys(base):
            return []
        try:
            with os.scandir(self._root / base) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries if not entry.name.startswith(".")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(found, key=lambda item: f"{item[0]}/" if item[1] else item[0])

    def _walk(self, base: str, prefix: str, start_after: str) -> Iterator[Listed]:
        with _translated(base):
            names = self._names(base)
        for name, is_folder in names:
            full = f"{base}{name}/" if is_folder else f"{base}{name}"
            if is_folder:
                related = full.startswith(prefix) or prefix.startswith(full)
                if related and (full > start_after or start_after.startswith(full)):
                    yield from self._walk(full, prefix, start_after)
            elif full.startswith(prefix) and full > start_after:
                yield self._listed(full)

    def _listed(self, key: str) -> Listed:
        """One line. What went away since its folder was read is listed: else a folder in which another took its place would look empty."""
        with _translated(key):
            try:
                status = (self._root / key).stat()
            except (FileNotFoundError, NotADirectoryError):
                return Listed(key, 0, time.time())
        return Listed(key, status.st_size, status.st_mtime)

    def _sweep(self) -> None:
        """Removes what writers that were killed left behind."""
        oldest = time.time() - _STALE_S
        with os.scandir(self._root / _TMP) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        Path(entry.path).unlink()


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _current_etag(path: Path) -> str | None:
    try:
        return _etag(path.read_bytes())
    except FileNotFoundError:
        return None


@contextmanager
def _making(root: str) -> Iterator[None]:
    """As `_translated`, for the store's own folder, which nobody expects to be there."""
    try:
        with _translated(root):
            yield
    except NotFoundError as exc:
        raise StoreAccessError(
            f"the folder {root!r} cannot be made: a part of its path is a file, or takes no folders; name another place"
        ) from exc.__cause__


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """The one place where errors of the operating system become ours."""
    try:
        yield
    except FileNotFoundError as exc:
        raise NotFoundError(f"no object {what!r}") from exc
    except (IsADirectoryError, NotADirectoryError) as exc:
        raise NotFoundError(f"no object {what!r}: that name, or a part of it, is a folder of other keys or a key itself") from exc
    except OSError as exc:
        name = errno.errorcode.get(exc.errno or 0, "an unknown error")
        if exc.errno in _PASSING:
            raise StoreUnavailableError(f"the file system answered {name} for {what!r}; try again") from exc
        raise StoreAccessError(f"the file system answered {name} for {what!r}: check the folder's owner, mode and free space") from exc
