public typealias mode_t = UInt16
public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias nlink_t = UInt16
public typealias off_t = Int64
public typealias uid_t = UInt32
public typealias gid_t = UInt32
public typealias pid_t = Int32
public typealias time_t = Int
public typealias socklen_t = UInt32
public typealias sa_family_t = UInt8
public typealias in_port_t = UInt16
public typealias in_addr_t = UInt32
public typealias clockid_t = UInt32

public struct DIR {}

public struct dirent {
    public var d_ino: UInt64 = 0
    /// A tuple of 1,024.
    public var d_name: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)
    public init() {}
}

public struct timespec: BitwiseCopyable, Sendable {
    public var tv_sec: Int = 0
    public var tv_nsec: Int = 0
    public init() {}
    public init(tv_sec: Int, tv_nsec: Int) {}
}

public struct timeval: BitwiseCopyable, Sendable {
    public var tv_sec: Int = 0
    public var tv_usec: Int32 = 0
    public init() {}
    public init(tv_sec: Int, tv_usec: Int32) {}
}

public struct stat: BitwiseCopyable, Sendable {
    public var st_dev: dev_t = 0
    public var st_mode: mode_t = 0
    public var st_nlink: nlink_t = 0
    public var st_ino: ino_t = 0
    public var st_uid: uid_t = 0
    public var st_gid: gid_t = 0
    public var st_atimespec = timespec()
    public var st_mtimespec = timespec()
    public var st_ctimespec = timespec()
    public var st_size: off_t = 0
    public var st_blocks: Int64 = 0
    public var st_blksize: Int32 = 0
    public init() {}
}

public struct passwd: BitwiseCopyable {
    public var pw_name: UnsafeMutablePointer<CChar>!
    public var pw_uid: uid_t = 0
    public var pw_gid: gid_t = 0
    public var pw_dir: UnsafeMutablePointer<CChar>!
    public init() {}
}

public struct group: BitwiseCopyable {
    public var gr_name: UnsafeMutablePointer<CChar>!
    public var gr_gid: gid_t = 0
    public var gr_mem: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>!
    public init() {}
}

public struct linger: BitwiseCopyable, Sendable {
    public var l_onoff: Int32 = 0
    public var l_linger: Int32 = 0
    public init() {}
    public init(l_onoff: Int32, l_linger: Int32) {}
}

public struct sockaddr: BitwiseCopyable, Sendable {
    public var sa_len: UInt8 = 0
    public var sa_family: sa_family_t = 0
    public init() {}
}

public struct sockaddr_storage: BitwiseCopyable, Sendable {
    public var ss_len: UInt8 = 0
    public var ss_family: sa_family_t = 0
    public init() {}
}

public struct in_addr: BitwiseCopyable, Sendable {
    public var s_addr: in_addr_t = 0
    public init() {}
    public init(s_addr: in_addr_t) {}
}

public struct sockaddr_in: BitwiseCopyable, Sendable {
    public var sin_len: UInt8 = 0
    public var sin_family: sa_family_t = 0
    public var sin_port: in_port_t = 0
    public var sin_addr = in_addr()
    public init() {}
}

public struct in6_addr: BitwiseCopyable, Sendable {
    public init() {}
}

public struct sockaddr_in6: BitwiseCopyable, Sendable {
    public var sin6_len: UInt8 = 0
    public var sin6_family: sa_family_t = 0
    public var sin6_port: in_port_t = 0
    public var sin6_addr = in6_addr()
    public var sin6_scope_id: UInt32 = 0
    public init() {}
}

public struct sockaddr_un: BitwiseCopyable, Sendable {
    public var sun_len: UInt8 = 0
    public var sun_family: sa_family_t = 0
    /// 104 bytes, as a tuple.
    public var sun_path: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)
    public init() {}
}

public struct kevent: BitwiseCopyable {
    public var ident: UInt = 0
    public var filter: Int16 = 0
    public var flags: UInt16 = 0
    public var fflags: UInt32 = 0
    public var data: Int = 0
    public var udata: UnsafeMutableRawPointer!
    public init() {}
    public init(
        ident: UInt,
        filter: Int16,
        flags: UInt16,
        fflags: UInt32,
        data: Int,
        udata: UnsafeMutableRawPointer!
    ) {}
}

public struct tm: BitwiseCopyable {
    public var tm_sec: Int32 = 0
    public var tm_min: Int32 = 0
    public var tm_hour: Int32 = 0
    public var tm_mday: Int32 = 0
    public var tm_mon: Int32 = 0
    public var tm_year: Int32 = 0
    public var tm_wday: Int32 = 0
    public var tm_yday: Int32 = 0
    public var tm_isdst: Int32 = 0
    public var tm_gmtoff: Int = 0
    public var tm_zone: UnsafeMutablePointer<CChar>!
    public init() {}
}

public typealias rlim_t = UInt64

public struct rlimit: BitwiseCopyable, Sendable {
    public var rlim_cur: rlim_t = 0
    public var rlim_max: rlim_t = 0
    public init() {}
    public init(rlim_cur: rlim_t, rlim_max: rlim_t) {}
}
