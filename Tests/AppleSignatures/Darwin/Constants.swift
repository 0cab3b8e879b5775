public import DarwinTypes

public var errno: Int32 {
    get { fatalError() }
    set {}
}

public var EPERM: Int32 { 1 }
public var ENOENT: Int32 { 2 }
public var ESRCH: Int32 { 3 }
public var EINTR: Int32 { 4 }
public var ENOMEM: Int32 { 12 }
public var EACCES: Int32 { 13 }
public var EEXIST: Int32 { 17 }
public var ENOTDIR: Int32 { 20 }
public var EISDIR: Int32 { 21 }
public var EINVAL: Int32 { 22 }
public var ENFILE: Int32 { 23 }
public var EMFILE: Int32 { 24 }
public var EFBIG: Int32 { 27 }
public var ENOSPC: Int32 { 28 }
public var EROFS: Int32 { 30 }
public var EPIPE: Int32 { 32 }
public var EAGAIN: Int32 { 35 }
public var EWOULDBLOCK: Int32 { 35 }
public var ELOOP: Int32 { 62 }
public var ENAMETOOLONG: Int32 { 63 }
public var ENOTEMPTY: Int32 { 66 }
public var ENOTSUP: Int32 { 45 }
public var ENOTTY: Int32 { 25 }
public var EOPNOTSUPP: Int32 { 102 }
public var ECANCELED: Int32 { 89 }
public var SEEK_SET: Int32 { 0 }
public var EDQUOT: Int32 { 69 }

public var STDIN_FILENO: Int32 { 0 }
public var STDOUT_FILENO: Int32 { 1 }
public var STDERR_FILENO: Int32 { 2 }

public var F_OK: Int32 { 0 }
public var AT_REMOVEDIR: Int32 { 0x80 }

public var O_RDONLY: Int32 { 0 }
public var O_WRONLY: Int32 { 1 }
public var O_RDWR: Int32 { 2 }
public var O_NONBLOCK: Int32 { 4 }
public var O_APPEND: Int32 { 8 }
public var O_NOFOLLOW: Int32 { 0x100 }
public var O_CREAT: Int32 { 0x200 }
public var O_TRUNC: Int32 { 0x400 }
public var O_EXCL: Int32 { 0x800 }
public var O_DIRECTORY: Int32 { 0x10_0000 }
public var O_CLOEXEC: Int32 { 0x100_0000 }
public var F_SETFD: Int32 { 2 }
public var F_GETFL: Int32 { 3 }
public var F_SETFL: Int32 { 4 }
public var F_DUPFD_CLOEXEC: Int32 { 67 }
public var F_SETNOSIGPIPE: Int32 { 73 }
public var F_BARRIERFSYNC: Int32 { 85 }
public var F_GETNOSIGPIPE: Int32 { 74 }
public var FD_CLOEXEC: Int32 { 1 }
public var LOCK_SH: Int32 { 1 }
public var LOCK_EX: Int32 { 2 }
public var LOCK_NB: Int32 { 4 }
public var LOCK_UN: Int32 { 8 }
public var R_OK: Int32 { 4 }
public var _PC_CASE_SENSITIVE: Int32 { 11 }

public var S_IFMT: mode_t { 0o170_000 }
public var S_IFREG: mode_t { 0o100_000 }
public var S_IFDIR: mode_t { 0o040_000 }
public var S_IFCHR: mode_t { 0o020_000 }
public var S_IFBLK: mode_t { 0o060_000 }
public var S_ISVTX: mode_t { 0o1000 }
public var S_IWGRP: mode_t { 0o020 }
public var S_IWOTH: mode_t { 0o002 }

public var AF_UNIX: Int32 { 1 }
public var AF_INET: Int32 { 2 }
public var AF_INET6: Int32 { 30 }
public var SOCK_STREAM: Int32 { 1 }
public var SOL_SOCKET: Int32 { 0xffff }
public var SO_REUSEADDR: Int32 { 4 }
public var SO_LINGER: Int32 { 0x80 }
public var SO_NOSIGPIPE: Int32 { 0x1022 }
public var IPPROTO_TCP: Int32 { 6 }
public var IPPROTO_IPV6: Int32 { 41 }
public var IPV6_V6ONLY: Int32 { 27 }
public var TCP_NODELAY: Int32 { 1 }
public var SHUT_RD: Int32 { 0 }
public var SHUT_WR: Int32 { 1 }
public var SHUT_RDWR: Int32 { 2 }
public var INET_ADDRSTRLEN: Int32 { 16 }
public var INET6_ADDRSTRLEN: Int32 { 46 }
public var INADDR_LOOPBACK: UInt32 { 0x7f00_0001 }
public let in6addr_loopback = in6_addr()

public var SIGINT: Int32 { 2 }
public var SIGPIPE: Int32 { 13 }
public var SIG_IGN: (@convention(c) (Int32) -> Void)! { nil }
public var RTLD_LAZY: Int32 { 1 }

public var EVFILT_READ: Int32 { -1 }
public var EVFILT_WRITE: Int32 { -2 }
public var EV_ADD: Int32 { 1 }
public var EV_DELETE: Int32 { 2 }
public var EV_ENABLE: Int32 { 4 }
public var EV_DISABLE: Int32 { 8 }
public var EV_CLEAR: Int32 { 0x20 }
public var EV_EOF: Int32 { 0x8000 }
public var NOTE_LOWAT: Int32 { 1 }

public var RLIMIT_NOFILE: Int32 { 8 }
public var OPEN_MAX: Int32 { 10240 }
