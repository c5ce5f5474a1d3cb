// Calls by which a process learns about itself and about others; and random numbers.
#include <signal.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "calls.hpp"

namespace world {
namespace {

// The memory of another simulated process is at the same address here.
ssize_t copy_memory(pid_t number, const iovec* local, unsigned long local_count, const iovec* remote,
                    unsigned long remote_count, bool read) {
  kernel->step();
  const Process* const process = kernel->find_process(number);
  if (process == nullptr || process->node != kernel->process().node) {
    return failed(ESRCH);
  }
  std::size_t done = 0;
  std::size_t local_offset = 0;
  std::size_t remote_offset = 0;
  while (local_count > 0 && remote_count > 0) {
    const auto part = std::min(local->iov_len - local_offset, remote->iov_len - remote_offset);
    auto* const here = static_cast<char*>(local->iov_base) + local_offset;
    auto* const there = static_cast<char*>(remote->iov_base) + remote_offset;
    std::memcpy(read ? here : there, read ? there : here, part);
    done += part;
    local_offset += part;
    remote_offset += part;
    if (local_offset == local->iov_len) {
      ++local, --local_count, local_offset = 0;
    }
    if (remote_offset == remote->iov_len) {
      ++remote, --remote_count, remote_offset = 0;
    }
  }
  return static_cast<ssize_t>(done);
}

}  // namespace
}  // namespace world

using world::failed;
using world::inside;
using world::kernel;

WORLD_CALL(pid_t, getpid) {
  return inside() ? kernel->process().number : WORLD_REAL(getpid)();
}

WORLD_CALL(char*, getenv, const char* name) {
  if (!inside()) {
    return WORLD_REAL(getenv)(name);
  }
  auto& environment = kernel->process().environment;
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.data();
}

WORLD_CALL(int, gethostname, char* name, std::size_t bytes) {
  if (!inside()) {
    return WORLD_REAL(gethostname)(name, bytes);
  }
  const auto text = "host" + std::to_string(kernel->process().node);
  std::strncpy(name, text.c_str(), bytes);
  return 0;
}

WORLD_CALL(ssize_t, getrandom, void* data, std::size_t bytes, unsigned flags) {
  if (!inside()) {
    return WORLD_REAL(getrandom)(data, bytes, flags);
  }
  auto* const target = static_cast<unsigned char*>(data);
  for (std::size_t index = 0; index < bytes; ++index) {
    target[index] = static_cast<unsigned char>(kernel->random().next());
  }
  return static_cast<ssize_t>(bytes);
}

WORLD_CALL(ssize_t, process_vm_readv, pid_t process, const iovec* local, unsigned long local_count, const iovec* remote,
           unsigned long remote_count, unsigned long flags) {
  return inside() ? world::copy_memory(process, local, local_count, remote, remote_count, true)
                  : WORLD_REAL(process_vm_readv)(process, local, local_count, remote, remote_count, flags);
}

WORLD_CALL(ssize_t, process_vm_writev, pid_t process, const iovec* local, unsigned long local_count,
           const iovec* remote, unsigned long remote_count, unsigned long flags) {
  return inside() ? world::copy_memory(process, local, local_count, remote, remote_count, false)
                  : WORLD_REAL(process_vm_writev)(process, local, local_count, remote, remote_count, flags);
}

WORLD_CALL(int, posix_spawn, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
           const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  if (!inside()) {
    return WORLD_REAL(posix_spawn)(child, path, actions, attributes, arguments, environment);
  }
  kernel->step();
  *child = 1;
  return kernel->on_spawn ? kernel->on_spawn(path, environment) : ENOENT;
}

WORLD_CALL(pid_t, waitpid, pid_t child, int* status, int options) {
  if (!inside()) {
    return WORLD_REAL(waitpid)(child, status, options);
  }
  *status = 0;
  return child;
}

WORLD_CALL(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  return inside() ? 0 : WORLD_REAL(sigprocmask)(how, set, old);
}
