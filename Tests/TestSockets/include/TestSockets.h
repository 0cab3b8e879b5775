#ifndef TEST_SOCKETS_H
#define TEST_SOCKETS_H

/// Leaves the sockets that this process opens from now on as they are requested, for tests of what child processes inherit; without
/// it, they are not inherited, and their numbers are not used again soon.
void test_sockets_stay_as_requested(void);

/// Lets new sockets of this process fail with `EMFILE` where they would leave fewer than `number` descriptors free.
///
/// Every second, libdispatch opens a file for each thread of its pools, and ends the process with SIGILL if it cannot.
void test_sockets_leave_free(int number);

#endif
