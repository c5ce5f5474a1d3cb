// The writer's side: takes subscriptions of readers on other nodes, holds for them, and sends.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "os/descriptor.hpp"
#include "relay/posts.hpp"
#include "relay/subscription.hpp"
#include "series/superseded.hpp"

namespace couplet::relay {

// The services that the server needs from its process.
class ServerHost {
 public:
  virtual ~ServerHost() = default;
  [[nodiscard]] virtual const std::string& node_directory() const = 0;
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  // Returns ok while that incarnation of the process may still run. At most one system call.
  virtual Status alive(channel::PeerId peer, std::uint16_t incarnation) = 0;
  // Returns true if no hub has answered for so long that none is expected: then nobody is told of another relay.
  [[nodiscard]] virtual bool hub_is_away() const = 0;
};

struct ServerOptions {
  // If true, a thread sleeps on the writers' words, and descriptor() becomes readable. Otherwise the caller of poll()
  // finds out.
  bool watch = true;
  // Size of what is packed at once. It is also bounded by the lane's largest payload.
  std::uint64_t piece_bytes = std::uint64_t{256} << 10;
  std::size_t most_subscriptions = 16384;
};

class Server final : private Activation {
 public:
  static Result<std::unique_ptr<Server>> open(ServerHost& host, const ServerOptions& options = {});
  // REQUIRES: the channels over which it has sent have ended.
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Sends up to `budget` frames, and returns the work done. Never blocks.
  int poll(int budget);
  // Takes the credit that subscribers have sent, for processes whose engine seldom checks sockets.
  void take_credit();
  // Returns true if poll() would do something. Call it between the last poll and the sleep.
  [[nodiscard]] bool ready() const;
  // Returns a descriptor that can be read when a writer has published what was waited for; -1 without watch.
  [[nodiscard]] int descriptor() const { return bell_.number(); }
  // Checks whether writers are alive, and tries again what could not be done. Call it about every 100 ms.
  void tick();

  // Handles the frames of readers.
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(channel::Channel& channel);

  [[nodiscard]] std::size_t subscriptions() const { return count_ + ending_.size() + waiting_.frames.size(); }
  // Returns true if every subscriber has been sent all that there is and will be.
  [[nodiscard]] bool told_all() const;
  [[nodiscard]] const Pushed& pushed() const { return pushed_; }

 private:
  // A hold whose connection has failed while its reader may still be alive. It stays valid until the reader continues
  // with it over another relay, or has ended; once hub_is_away() it ends, since no reader is told of another relay
  // then.
  struct LeftHold {
    std::shared_ptr<ServedFile> served;
    series::Hold hold;
  };
  // A frame that ends a hold, or continues a subscription, and cannot be carried out yet, since this process has no
  // memory or descriptor for the file. No other relay can do it.
  struct Deferred {
    channel::Channel* channel = nullptr;
    std::uint32_t number = 0;
    wire::Subscribe selection;
    bool subscribes = false;
  };
  // Holds and frames that tick() looks at again, since no frame says when they can go on.
  struct Waiting {
    std::vector<LeftHold> holds;
    std::vector<Deferred> frames;

    // Returns false if there are too many already.
    [[nodiscard]] bool defer(Deferred frame);
    // Carries out what can be carried out now.
    void retry(Server& server);
    void forget(const channel::Channel& channel, std::optional<std::uint32_t> number = std::nullopt);
  };
  struct OfChannel {
    std::unordered_map<std::uint32_t, std::unique_ptr<Subscription>> numbered;
    std::map<std::uint32_t, std::weak_ptr<CommonSteps>> readers;
  };
  Server(ServerHost& host, const ServerOptions& options)
      : host_(host),
        options_(options),
        lives_([&host](const series::Owner& owner) { return host.alive(owner.peer, owner.incarnation).ok(); }) {}

  Result<std::shared_ptr<ServedFile>> serve(const std::string& name);
  void subscribe(channel::Channel& channel, std::uint32_t number, Result<wire::Subscribe> selection);
  Status begin(Subscription& subscription, const wire::Subscribe& selection);
  Result<std::uint64_t> start(Subscription& subscription, const wire::Subscribe& selection,
                              const std::shared_ptr<ServedFile>& served);
  Status end_hold(channel::Channel& channel, std::uint32_t number, const Result<wire::Subscribe>& selection);
  Result<std::uint64_t> go_on(Subscription& subscription, const wire::Subscribe& selection,
                              const std::shared_ptr<ServedFile>& served);
  [[nodiscard]] Subscription* find(const channel::Channel& channel, std::uint32_t number) const;
  void add(std::unique_ptr<Subscription> subscription);
  void activate(Subscription& subscription) override;
  // Sends until nothing is due, or others have waited long enough. Returns the number of frames.
  int push(Subscription& subscription);
  // Activates the idle subscriptions of files that have news.
  void look_at_files();
  // Removes a subscription that has ended from all lists. It is destroyed when its frames have come back.
  void retire(Subscription& subscription);
  void sweep();
  // Unmaps the files that nobody has subscribed to any more.
  void forget_files();
  void look_at_waiting();

  ServerHost& host_;
  ServerOptions options_;
  series::Superseded::Lives lives_;
  os::Descriptor bell_;
  std::unique_ptr<series::PublicationWatch> watch_;  // for all files
  std::map<std::string, std::shared_ptr<ServedFile>> files_;
  std::unordered_map<const channel::Channel*, OfChannel> subscriptions_;
  std::size_t count_ = 0;                              // the number of subscriptions
  std::vector<std::unique_ptr<Subscription>> ending_;  // ended, with frames that are being sent
  std::deque<Subscription*> active_;                   // they may have something to send
  Waiting waiting_;
  Posts posts_;
  series::Superseded superseded_;
  unsigned ticks_ = 0;
  Pushed pushed_;
};

}  // namespace couplet::relay
