#include "os/doorbell.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <new>

#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/error.hpp"

namespace couplet::os {
namespace {

// The name of a unix socket. It can hold 107 bytes; a longer path is opened through a descriptor of its folder.
struct SocketName {
  sockaddr_un address{};
  Descriptor folder;
};

Result<SocketName> socket_name(const std::string& path) {
  SocketName name;
  name.address.sun_family = AF_UNIX;
  std::string text = path;
  if (text.size() >= sizeof name.address.sun_path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) {
      return fail(Code::limit, "{} is too long for the name of a socket", path);
    }
    name.folder = Descriptor(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!name.folder) {
      return system_failure(errno, fmt::format("cannot open the folder of {}", path));
    }
    text = fmt::format("/proc/self/fd/{}{}", name.folder.number(), path.substr(slash));
    if (text.size() >= sizeof name.address.sun_path) {
      return fail(Code::limit, "{} is too long for the name of a socket", path);
    }
  }
  std::memcpy(name.address.sun_path, text.c_str(), text.size() + 1);
  return name;
}

const sockaddr* generic(const sockaddr_un& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<Descriptor> open_datagram_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return system_failure(errno, "cannot open a doorbell socket");
  }
  return socket;
}

int wait_for_events(int set, epoll_event* events, int most, std::uint64_t timeout_ns) noexcept {
  timespec timeout{};
  timespec* limit = nullptr;
  if (timeout_ns != never) {
    timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000U);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000U);
    limit = &timeout;
  }
  const int count = ::epoll_pwait2(set, events, most, limit, nullptr);
  if (count >= 0 || errno != ENOSYS) {
    return std::max(count, 0);
  }
  // Before Linux 5.11 the timeout is in milliseconds. It is rounded up, so that a short timeout does not spin.
  const std::uint64_t milliseconds = timeout_ns / 1'000'000U + (timeout_ns % 1'000'000U != 0 ? 1 : 0);
  const int wait = timeout_ns == never ? -1 : static_cast<int>(std::min<std::uint64_t>(milliseconds, INT_MAX));
  return std::max(::epoll_wait(set, events, most, wait), 0);
}

}  // namespace

struct Doorbell::State {
  std::string path;
  SleepFlag& flag;
  Descriptor set;
  Descriptor socket;
  Descriptor waker{};  // an eventfd; made when several threads use the doorbell

  void drain() const noexcept {
    std::array<char, 64> dropped{};
    while (::recv(socket.number(), dropped.data(), dropped.size(), 0) >= 0) {
    }
  }
  [[nodiscard]] Status watch(int descriptor, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    if (::epoll_ctl(set.number(), EPOLL_CTL_ADD, descriptor, &event) == 0 ||
        (errno == EEXIST && ::epoll_ctl(set.number(), EPOLL_CTL_MOD, descriptor, &event) == 0)) {
      return {};
    }
    return system_failure(errno, fmt::format("cannot watch descriptor {}", descriptor));
  }
};

Doorbell::Doorbell(std::unique_ptr<State> state) : state_(std::move(state)) {}

Doorbell::~Doorbell() {
  if (state_->socket.mine()) {
    ::unlink(state_->path.c_str());
  }
}

Result<std::unique_ptr<Doorbell>> Doorbell::open(const std::string& path, SleepFlag& flag) {
  COUPLET_TRY_VALUE(Descriptor socket, open_datagram_socket());
  COUPLET_TRY_VALUE(const SocketName name, socket_name(path));
  if (::bind(socket.number(), generic(name.address), sizeof name.address) != 0) {
    const int error = errno == EADDRINUSE ? EEXIST : errno;
    return system_failure(error, fmt::format("cannot make the doorbell {}", path));
  }
  auto state =
      std::unique_ptr<State>(new State{path, flag, Descriptor(::epoll_create1(EPOLL_CLOEXEC)), std::move(socket), {}});
  if (!state->set) {
    const int error = errno;
    ::unlink(path.c_str());
    return system_failure(error, "cannot make an epoll set");
  }
  auto doorbell = std::unique_ptr<Doorbell>(new Doorbell(std::move(state)));
  COUPLET_TRY(doorbell->watch(doorbell->state_->socket.number(), false));
  flag.sleeping.store(0, std::memory_order_relaxed);
  return doorbell;
}

Status Doorbell::watch(int descriptor, bool write) {
  return state_->watch(descriptor, write ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

Status Doorbell::watch_writing(int descriptor) {
  return state_->watch(descriptor, EPOLLOUT);
}

void Doorbell::unwatch(int descriptor) {
  if (state_->set.mine()) {
    ::epoll_ctl(state_->set.number(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

void Doorbell::raise_flag() noexcept {
  state_->flag.sleeping.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with Bell::ring_if_asleep
}

void Doorbell::lower_flag() noexcept {
  state_->flag.sleeping.store(0, std::memory_order_relaxed);
}

int Doorbell::sleep_for(std::uint64_t timeout_ns, int* ready_descriptors, int most) {
  std::array<epoll_event, 64> events{};
  const int wanted = std::min(most, static_cast<int>(events.size()));
  const int count = wait_for_events(state_->set.number(), events.data(), wanted, timeout_ns);
  lower_flag();
  int ready = 0;
  for (int index = 0; index < count; ++index) {
    const int descriptor = events[static_cast<std::size_t>(index)].data.fd;
    if (descriptor == state_->socket.number()) {
      state_->drain();
    } else if (state_->waker && descriptor == state_->waker.number()) {
      std::uint64_t wakes = 0;
      static_cast<void>(::read(descriptor, &wakes, sizeof wakes) == sizeof wakes);
    } else {
      ready_descriptors[ready++] = descriptor;
    }
  }
  return ready;
}

int Doorbell::look(int* ready_descriptors, int most) {
  std::array<epoll_event, 64> events{};
  const int wanted = std::min(most, static_cast<int>(events.size()));
  const int count = wait_for_events(state_->set.number(), events.data(), wanted, 0);
  int ready = 0;
  for (int index = 0; index < count; ++index) {
    const int descriptor = events[static_cast<std::size_t>(index)].data.fd;
    const bool own = descriptor == state_->socket.number() || (state_->waker && descriptor == state_->waker.number());
    if (!own) {
      ready_descriptors[ready++] = descriptor;
    }
  }
  return ready;
}

int Doorbell::descriptor() const noexcept {
  return state_->set.number();
}

void Doorbell::clear_rings() noexcept {
  state_->drain();
}

Status Doorbell::allow_wake() {
  if (state_->waker) {
    return {};
  }
  Descriptor waker(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!waker) {
    return system_failure(errno, "cannot make the descriptor by which threads wake each other");
  }
  COUPLET_TRY(watch(waker.number(), false));
  state_->waker = std::move(waker);
  return {};
}

void Doorbell::wake() noexcept {
  const std::uint64_t one = 1;
  if (state_->waker) {
    static_cast<void>(::write(state_->waker.number(), &one, sizeof one) == sizeof one);  // full: it wakes as well
  }
}

void Bell::ring() noexcept {
  if (flag_.sleeping.exchange(0, std::memory_order_relaxed) == 0) {
    return;  // another ringer was faster, or the peer has woken up
  }
  try {
    send_ring();
  } catch (const std::bad_alloc&) {
    // The next ringer tries again. No sleep is long.
    flag_.sleeping.store(1, std::memory_order_relaxed);
  }
}

void Bell::send_ring() {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!socket_.mine()) {
      auto socket = open_datagram_socket();
      auto name = socket_name(path_);
      if (!socket.ok() || !name.ok() ||
          ::connect(socket->number(), generic(name->address), sizeof name->address) != 0) {
        return;  // the peer is gone, which its lock will show
      }
      socket_ = std::move(*socket);
    }
    const char ring = 1;
    // A full queue (EAGAIN) wakes the peer as well. Any other failure means that the peer was replaced: look for the
    // new socket.
    if (::send(socket_.number(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN) {
      return;
    }
    socket_.close();
  }
}

}  // namespace couplet::os
