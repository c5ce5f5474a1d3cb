// Sockets of the simulated nodes: TCP streams with latency, cables that are cut and healed, resets, timeouts; and the
// datagram sockets of doorbells. All are non-blocking. Node n has the address 10.0.0.(n + 1).
#pragma once

#include <netinet/in.h>

#include <deque>
#include <set>

#include "kernel.hpp"

namespace world {

struct Place {
  int node = 0;
  std::uint16_t port = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

class Stream final : public Object, public std::enable_shared_from_this<Stream> {
 public:
  enum class State : std::uint8_t { fresh, listening, connecting, connected };
  explicit Stream(int node) : own{node, 0} {}
  [[nodiscard]] unsigned readiness() const override;
  void closed() override;

  // Each of these returns what the system call of the same name returns, and sets errno.
  int connect(Place target);
  int listen(int backlog);
  std::shared_ptr<Stream> accept();
  ssize_t send(const void* data, std::size_t bytes);
  ssize_t receive(void* data, std::size_t bytes);
  void shut_write();
  [[nodiscard]] int take_error();
  [[nodiscard]] bool established() const noexcept { return state == State::connected; }
  [[nodiscard]] std::size_t unanswered() const;
  // Returns, for TCP_INFO, since when something has not been acknowledged; 0: there is no such thing.
  [[nodiscard]] Nanoseconds silent_since() const;

  State state = State::fresh;
  Place own;
  Place other;
  struct Options {
    bool keepalive = false;
    bool aborts_on_close = false;  // SO_LINGER
    Nanoseconds keepalive_ns = 0;  // how long nothing is sent before it ends, with the time of the probes
    Nanoseconds user_timeout_ns = 0;
  };
  Options options;

 private:
  friend class Network;
  enum class Kind : std::uint8_t { data, end, reset };
  struct Segment {
    Nanoseconds at = 0;  // when it arrives; never: a cut cable holds it
    Kind kind = Kind::data;
    std::string bytes;
    Nanoseconds sent_ns = 0;
  };
  void push_to(Stream& target, Kind kind, std::string bytes);
  void arrived_syn(const std::shared_ptr<Stream>& caller);
  void answer_reset();
  void abort(int why);
  static void answer_probe(const std::weak_ptr<Stream>& other_side);
  [[nodiscard]] bool reset_arrived() const;
  [[nodiscard]] bool held() const;

  std::weak_ptr<Stream> peer_;
  const Stream* plain_peer_ = nullptr;  // the same stream, for use while it exists
  std::deque<Segment> incoming_;
  std::size_t incoming_bytes_ = 0;
  std::size_t taken_ = 0;  // bytes of the first segment that were read
  std::deque<std::shared_ptr<Stream>> callers_;
  std::size_t backlog_ = 0;
  int error_ = 0;
  bool shut_ = false;
  bool gone_ = false;  // the stream is closed, or was given up
  Nanoseconds heard_ns_ = 0;
};

class Network {
 public:
  [[nodiscard]] bool is_cut(int one, int other) const;
  void cut(int one, int other);
  void heal(int one, int other);
  // From now on, the first node reaches no listener on the other one. Connections that there are stay.
  void wall(int from, int to) { walls_.insert({from, to}); }
  // Ends every connection between the two nodes at once, as `ss -K` does.
  void reset(int one, int other);
  [[nodiscard]] Nanoseconds latency(int from, int to) const;
  [[nodiscard]] Nanoseconds cut_since(int one, int other) const;

  void add(const std::shared_ptr<Stream>& stream) { streams_.push_back(stream); }
  void set_listener(Place place, const std::shared_ptr<Stream>& stream) { listeners_[place] = stream; }
  [[nodiscard]] std::shared_ptr<Stream> listener(Place place) const;
  [[nodiscard]] std::uint16_t free_port() { return next_port_++; }
  void try_connect(const std::shared_ptr<Stream>& caller);

 private:
  using Cable = std::pair<int, int>;
  static Cable cable(int one, int other) { return {std::min(one, other), std::max(one, other)}; }
  template <typename Visit>
  void for_each_across(int one, int other, const Visit& visit);
  void look_for_timeouts(int one, int other);

  std::map<Cable, Nanoseconds> cuts_;
  std::set<std::pair<int, int>> walls_;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::map<Place, std::weak_ptr<Stream>> listeners_;
  std::uint16_t next_port_ = 40'000;
};

[[nodiscard]] Network& network();

// The socket of a doorbell. Only the number of datagrams that wait matters.
class DatagramSocket final : public Object {
 public:
  [[nodiscard]] unsigned readiness() const override;
  void closed() override { gone = true; }
  std::weak_ptr<DatagramSocket> target;
  std::deque<std::string> waiting;
  Place own;  // the address of an internet socket
  bool gone = false;
};

}  // namespace world
