// In a separate module, because Swift refuses a function that has the name of a type, such as `stat`, in one module.
@_exported public import DarwinTypes

@discardableResult public func open(_: UnsafePointer<CChar>, _: Int32) -> Int32 { fatalError() }
@discardableResult public func open(_: UnsafePointer<CChar>, _: Int32, _: mode_t) -> Int32 { fatalError() }
@discardableResult public func openat(_: Int32, _: UnsafePointer<CChar>!, _: Int32, _: mode_t) -> Int32 { fatalError() }
@discardableResult public func mkdirat(_: Int32, _: UnsafePointer<CChar>!, _: mode_t) -> Int32 { fatalError() }
@discardableResult public func unlinkat(_: Int32, _: UnsafePointer<CChar>!, _: Int32) -> Int32 { fatalError() }
@discardableResult public func renameat(
    _: Int32,
    _: UnsafePointer<CChar>!,
    _: Int32,
    _: UnsafePointer<CChar>!
) -> Int32 { fatalError() }
@discardableResult public func utimensat(
    _: Int32,
    _: UnsafePointer<CChar>!,
    _: UnsafePointer<timespec>!,
    _: Int32
) -> Int32 { fatalError() }
@discardableResult public func kill(_: pid_t, _: Int32) -> Int32 { fatalError() }
public func fdopendir(_: Int32) -> UnsafeMutablePointer<DIR>! { fatalError() }
@discardableResult public func closedir(_: UnsafeMutablePointer<DIR>!) -> Int32 { fatalError() }
public func rewinddir(_: UnsafeMutablePointer<DIR>!) { fatalError() }
public func readdir(_: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>! { fatalError() }
@discardableResult public func close(_: Int32) -> Int32 { fatalError() }
@discardableResult public func read(_: Int32, _: UnsafeMutableRawPointer!, _: Int) -> Int { fatalError() }
@discardableResult public func write(_: Int32, _: UnsafeRawPointer!, _: Int) -> Int { fatalError() }
@discardableResult public func pread(_: Int32, _: UnsafeMutableRawPointer!, _: Int, _: off_t) -> Int { fatalError() }
@discardableResult public func lseek(_: Int32, _: off_t, _: Int32) -> off_t { fatalError() }
@discardableResult public func ftruncate(_: Int32, _: off_t) -> Int32 { fatalError() }
@discardableResult public func fsync(_: Int32) -> Int32 { fatalError() }
@discardableResult public func fstat(_: Int32, _: UnsafeMutablePointer<stat>!) -> Int32 { fatalError() }
@discardableResult public func stat(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<stat>!) -> Int32 { fatalError() }
@discardableResult public func lstat(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<stat>!) -> Int32 { fatalError() }
@discardableResult public func fchmod(_: Int32, _: mode_t) -> Int32 { fatalError() }
@discardableResult public func chmod(_: UnsafePointer<CChar>!, _: mode_t) -> Int32 { fatalError() }
public func fchown(_: Int32, _: uid_t, _: gid_t) -> Int32 { fatalError() }
@discardableResult public func chflags(_: UnsafePointer<CChar>!, _: UInt32) -> Int32 { fatalError() }
@discardableResult public func mkdir(_: UnsafePointer<CChar>!, _: mode_t) -> Int32 { fatalError() }
@discardableResult public func rmdir(_: UnsafePointer<CChar>!) -> Int32 { fatalError() }
@discardableResult public func unlink(_: UnsafePointer<CChar>!) -> Int32 { fatalError() }
@discardableResult public func rename(
    _ old: UnsafePointer<CChar>!,
    _ new: UnsafePointer<CChar>!
) -> Int32 { fatalError() }
@discardableResult public func clonefile(
    _: UnsafePointer<CChar>!,
    _: UnsafePointer<CChar>!,
    _: UInt32
) -> Int32 { fatalError() }
@discardableResult public func link(_: UnsafePointer<CChar>!, _: UnsafePointer<CChar>!) -> Int32 { fatalError() }
@discardableResult public func access(_: UnsafePointer<CChar>!, _: Int32) -> Int32 { fatalError() }
@discardableResult public func sysctlbyname(
    _: UnsafePointer<CChar>!,
    _: UnsafeMutableRawPointer!,
    _: UnsafeMutablePointer<Int>!,
    _: UnsafeMutableRawPointer!,
    _: Int
) -> Int32 { fatalError() }
@discardableResult public func flock(_: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func fcntl(_: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func fcntl(_: Int32, _: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func fcntl(_: Int32, _: Int32, _: UnsafeMutableRawPointer) -> Int32 { fatalError() }
@discardableResult public func pathconf(_: UnsafePointer<CChar>!, _: Int32) -> Int { fatalError() }
@discardableResult public func mkstemp(_: UnsafeMutablePointer<CChar>!) -> Int32 { fatalError() }
@discardableResult public func strerror(_: Int32) -> UnsafeMutablePointer<CChar>! { fatalError() }
@discardableResult public func strdup(_: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { fatalError() }
@discardableResult public func strlen(_: UnsafePointer<CChar>!) -> Int { fatalError() }
public func free(_: UnsafeMutableRawPointer!) { fatalError() }
@discardableResult public func memchr(
    _ __s: UnsafeRawPointer!,
    _ __c: Int32,
    _ __n: Int
) -> UnsafeMutableRawPointer! { fatalError() }
@discardableResult public func time(_: UnsafeMutablePointer<time_t>!) -> time_t { fatalError() }
@discardableResult public func timegm(_: UnsafeMutablePointer<tm>!) -> time_t { fatalError() }
@discardableResult public func gmtime_r(
    _: UnsafePointer<time_t>!,
    _: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { fatalError() }
@discardableResult public func strftime(
    _: UnsafeMutablePointer<CChar>!,
    _ __maxsize: Int,
    _: UnsafePointer<CChar>!,
    _: UnsafePointer<tm>!
) -> Int { fatalError() }
@discardableResult public func memcmp(_: UnsafeRawPointer!, _: UnsafeRawPointer!, _: Int) -> Int32 { fatalError() }
@discardableResult public func memcpy(
    _: UnsafeMutableRawPointer!,
    _: UnsafeRawPointer!,
    _: Int
) -> UnsafeMutableRawPointer! { fatalError() }
@discardableResult public func getpid() -> pid_t { fatalError() }
@discardableResult public func getuid() -> uid_t { fatalError() }
@discardableResult public func geteuid() -> uid_t { fatalError() }
@discardableResult public func getegid() -> gid_t { fatalError() }
@discardableResult public func getpwuid_r(
    _: uid_t,
    _: UnsafeMutablePointer<passwd>!,
    _: UnsafeMutablePointer<CChar>!,
    _: Int,
    _: UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>!
) -> Int32 { fatalError() }
@discardableResult public func getgrgid_r(
    _: gid_t,
    _: UnsafeMutablePointer<group>!,
    _: UnsafeMutablePointer<CChar>!,
    _: Int,
    _: UnsafeMutablePointer<UnsafeMutablePointer<group>?>!
) -> Int32 { fatalError() }
@discardableResult public func getentropy(_: UnsafeMutableRawPointer!, _: Int) -> Int32 { fatalError() }
public func arc4random_buf(_: UnsafeMutableRawPointer!, _: Int) { fatalError() }
@discardableResult public func clock_gettime_nsec_np(_: clockid_t) -> UInt64 { fatalError() }
@discardableResult public func socket(_: Int32, _: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func bind(_: Int32, _: UnsafePointer<sockaddr>!, _: socklen_t) -> Int32 { fatalError() }
@discardableResult public func listen(_: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func connect(_: Int32, _: UnsafePointer<sockaddr>!, _: socklen_t) -> Int32 { fatalError() }
@discardableResult public func accept(
    _: Int32,
    _: UnsafeMutablePointer<sockaddr>!,
    _: UnsafeMutablePointer<socklen_t>!
) -> Int32 { fatalError() }
@discardableResult public func getsockname(
    _: Int32,
    _: UnsafeMutablePointer<sockaddr>!,
    _: UnsafeMutablePointer<socklen_t>!
) -> Int32 { fatalError() }
@discardableResult public func setsockopt(
    _: Int32,
    _: Int32,
    _: Int32,
    _: UnsafeRawPointer!,
    _: socklen_t
) -> Int32 { fatalError() }
@discardableResult public func recv(_: Int32, _: UnsafeMutableRawPointer!, _: Int, _: Int32) -> Int { fatalError() }
@discardableResult public func send(_: Int32, _: UnsafeRawPointer!, _: Int, _: Int32) -> Int { fatalError() }
@discardableResult public func shutdown(_: Int32, _: Int32) -> Int32 { fatalError() }
@discardableResult public func pipe(_: UnsafeMutablePointer<Int32>!) -> Int32 { fatalError() }
@discardableResult public func kqueue() -> Int32 { fatalError() }
@discardableResult public func kevent(
    _ kq: Int32,
    _ changelist: UnsafePointer<kevent>!,
    _ nchanges: Int32,
    _ eventlist: UnsafeMutablePointer<kevent>!,
    _ nevents: Int32,
    _ timeout: UnsafePointer<timespec>!
) -> Int32 { fatalError() }
@discardableResult public func dlopen(
    _ __path: UnsafePointer<CChar>!,
    _ __mode: Int32
) -> UnsafeMutableRawPointer! { fatalError() }
@discardableResult public func dlsym(
    _ __handle: UnsafeMutableRawPointer!,
    _ __symbol: UnsafePointer<CChar>!
) -> UnsafeMutableRawPointer! { fatalError() }
@discardableResult public func dlclose(_ __handle: UnsafeMutableRawPointer!) -> Int32 { fatalError() }
@discardableResult public func atexit(_: (@convention(c) () -> Void)!) -> Int32 { fatalError() }
@discardableResult public func usleep(_: UInt32) -> Int32 { fatalError() }
@discardableResult public func sched_yield() -> Int32 { fatalError() }
public func abort() -> Never { fatalError() }
public func exit(_: Int32) -> Never { fatalError() }
@discardableResult public func inet_aton(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<in_addr>!) -> Int32 {
    fatalError()
}
@discardableResult public func inet_pton(_: Int32, _: UnsafePointer<CChar>!, _: UnsafeMutableRawPointer!) -> Int32 {
    fatalError()
}
@discardableResult public func inet_ntop(
    _: Int32,
    _: UnsafeRawPointer!,
    _: UnsafeMutablePointer<CChar>!,
    _: socklen_t
) -> UnsafePointer<CChar>! { fatalError() }
@discardableResult public func getrlimit(_: Int32, _: UnsafeMutablePointer<rlimit>!) -> Int32 { fatalError() }
@discardableResult public func setrlimit(_: Int32, _: UnsafePointer<rlimit>!) -> Int32 { fatalError() }
public typealias sig_t = @convention(c) (Int32) -> Void
@discardableResult public func signal(_: Int32, _: sig_t!) -> sig_t! { fatalError() }
