// The writer's side: takes subscriptions of readers on other nodes, holds for them, and pushes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "os/descriptor.hpp"
#include "relay/subscription.hpp"

namespace couplet::relay {

// What the server needs of the process it lives in.
class ServerHost {
 public:
  virtual ~ServerHost() = default;
  [[nodiscard]] virtual const std::string& node_directory() const = 0;
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  // ok while that incarnation of the process may still run. At most one system call.
  virtual Status alive(channel::PeerId peer, std::uint16_t incarnation) = 0;
};

struct ServerOptions {
  // Threads sleep on the writers' words, and descriptor() becomes readable. Without: whoever polls looks for himself.
  bool watch = true;
  std::uint64_t piece_bytes = std::uint64_t{256} << 10;  // packed at once; also at most the lane's largest payload
  std::size_t most_subscriptions = 16384;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> open(ServerHost& host, const ServerOptions& options = {});
  // The channels that it has sent over have ended before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Pushes up to `budget` frames; returns the work done. Never blocks.
  int poll(int budget);
  // Takes what subscribers have sent; for those whose engine seldom looks at sockets.
  void take_credit();
  // Would poll() do something? Call it between the last poll and going to sleep.
  [[nodiscard]] bool ready() const;
  // Readable when a writer has published what was waited for; -1 without watch.
  [[nodiscard]] int descriptor() const { return bell_.number(); }
  // Looks whether writers live. About every 100 ms.
  void tick();

  // Frames of readers.
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(channel::Channel& channel);

  [[nodiscard]] std::size_t subscriptions() const { return subscriptions_.size(); }
  // Every subscriber has been sent all that there is and will be.
  [[nodiscard]] bool told_all() const;
  [[nodiscard]] std::uint64_t pushed_steps() const { return pushed_steps_; }
  [[nodiscard]] std::uint64_t pushed_bytes() const { return pushed_bytes_; }

 private:
  Server(ServerHost& host, const ServerOptions& options) : host_(host), options_(options) {}

  Result<std::shared_ptr<ServedFile>> serve(const std::string& name);
  void subscribe(channel::Channel& channel, std::uint32_t number, Result<wire::Subscribe> wish);
  Status begin(Subscription& subscription, const wire::Subscribe& wish);
  Result<std::uint64_t> start(Subscription& subscription, const wire::Subscribe& wish,
                              const std::shared_ptr<ServedFile>& served);
  Result<std::uint64_t> go_on(Subscription& subscription, const wire::Subscribe& wish,
                              const std::shared_ptr<ServedFile>& served);
  void count_opened(const wire::Opened& opened);
  [[nodiscard]] Subscription* find(const channel::Channel& channel, std::uint32_t number) const;
  void sweep();

  ServerHost& host_;
  ServerOptions options_;
  os::Descriptor bell_;
  std::map<std::string, std::weak_ptr<ServedFile>> files_;
  std::vector<std::unique_ptr<Subscription>> subscriptions_;
  std::size_t turn_ = 0;
  std::uint64_t pushed_steps_ = 0;
  std::uint64_t pushed_bytes_ = 0;
};

}  // namespace couplet::relay
