// The two teams: one process alone, and the members of a group over messages. Page: docs/formats/message.md.
// Tests: tests/unit/message/team_test.cpp, tests/conformance/message.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "message/agree.hpp"
#include "message/member_losses.hpp"
#include "message/message.hpp"

namespace couplet::message {

class SoloTeam final : public Team {
 public:
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  Status minimum(std::span<std::int64_t> /*values*/, std::uint64_t /*deadline_ns*/) override { return {}; }
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t /*deadline_ns*/) override {
    return std::vector<std::string>{bytes};
  }
};

// Up a binomial tree to rank 0 and down again, always the same tree. What goes wrong at one member (a lost neighbour, a
// deadline, no memory, values that do not fit together) is told to all on the same way, and is over with the call: in
// the next call the members meet anew.
//
// A meeting: each member greets its parent with a number that it never uses again, and all that the two say to each
// other afterwards carries that number. Nothing that a member counts or remembers has to be the same as at others, so
// that members that were started again, that failed alone or that came too late find each other; and what is left of
// one meeting is never taken for a part of another. A meeting ends with the lives of its members: one that was started
// again meanwhile knows nothing of it. Page: docs/formats/message.md.
class MessageTeam final : public Team {
 public:
  // No message is sent. Several teams of one name are used in the same order by all members. group and messenger
  // outlive the team. state: the caller is no member.
  static Result<std::unique_ptr<MessageTeam>> open(Messenger& messenger, Group& group, std::string_view name);
  // The same on every host. Each message of a team carries it.
  [[nodiscard]] static std::uint64_t identity_of(const Group& group, std::string_view name);
  ~MessageTeam() override;
  MessageTeam(const MessageTeam&) = delete;
  MessageTeam& operator=(const MessageTeam&) = delete;

  [[nodiscard]] int rank() const noexcept override { return group_.rank(); }
  [[nodiscard]] int size() const noexcept override { return group_.size(); }
  Status minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) override;
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t deadline_ns) override;
  // Up the tree goes nothing, and down the tree the bytes.
  Status broadcast(std::string& bytes, std::uint64_t deadline_ns) override;
  [[nodiscard]] Status disturbance() override;
  [[nodiscard]] Status broken_up() override;
  void leave(const Status& why) noexcept override;

 private:
  // A neighbour in the tree.
  struct Edge {
    std::int32_t rank = -1;
    channel::PeerId peer = 0;
    std::uint64_t meeting = 0;  // the number that the lower one of the two has chosen
    std::uint32_t context = 0;  // in which the two talk during this meeting
    std::uint64_t losses = 0;   // how often the neighbour had been lost when the meeting began
    bool met = false;
  };
  // The head of what a neighbour has said, and the rest.
  struct Head {
    bool failed = false;
    std::uint64_t identity = 0;
    std::uint64_t meeting = 0;
    std::string_view name;
    std::string_view content;
  };
  // Makes the own part.
  using Fill = std::function<void(std::string& own)>;
  // Adds what came from a child to what is there.
  using Merge = std::function<Status(std::string& own, std::string_view other)>;

  MessageTeam(Messenger& messenger, Group& group, std::string name, std::uint64_t first_meeting);
  Result<std::string> combine(const Fill& fill, const Merge& merge, std::uint64_t deadline_ns);
  Status collect(std::string& own, const Merge& merge, std::uint32_t call, std::uint64_t deadline_ns);
  [[nodiscard]] Edge edge_to(std::int32_t rank) const;
  void begin_meeting() noexcept;
  void end_meeting() noexcept;
  // Says why the neighbour that was met is not there any longer; ok: it is.
  [[nodiscard]] Status ended_life(const Edge& edge) const;
  // The same for one that was met in an earlier meeting. It is not waited for: its next life would not come.
  [[nodiscard]] Status ended_since_first(const Edge& edge) const;
  // Returns the failure that the neighbour has said with this tag, if it has.
  [[nodiscard]] Status said_failure(const Edge& from, std::int32_t tag) const;
  Status greeted(std::string& bytes, Edge& child, std::uint64_t deadline_ns);
  Status receive(std::string& bytes, const Edge& from, std::int32_t tag, std::uint64_t deadline_ns, bool& heard);
  Status send(const Status& status, const std::string& bytes, const Edge& to, std::int32_t tag,
              std::uint64_t deadline_ns) noexcept;
  [[nodiscard]] std::string image_of(const Status& status, const std::string& bytes, const Edge& to) const;
  [[nodiscard]] Result<Head> head_of(std::string_view image, std::int32_t source) const;
  Status check_head(const Head& head, const Edge& from) const;
  template <typename Body>
  Status with_memory(const Body& body) const noexcept;

  Messenger& messenger_;
  Group& group_;
  std::string name_;
  std::uint64_t identity_;
  std::uint64_t next_meeting_;
  Edge parent_;  // rank -1: this is rank 0
  std::vector<Edge> children_;
  bool met_ = false;         // a meeting has begun
  std::uint32_t calls_ = 0;  // since it began
  MemberLosses losses_;      // since all members met for the first time
  std::string greeting_;     // has room, so that a greeting is not lost if there is no memory
};

}  // namespace couplet::message
