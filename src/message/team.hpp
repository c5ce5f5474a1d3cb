// The two teams: one process alone, and the members of a group over messages. Page: docs/formats/message.md.
// Tests: tests/unit/message/team_test.cpp, tests/conformance/message.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "message/agree.hpp"
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
// deadline, values that do not fit together) is told to all on the same way; after that the team is of no more use, and
// each call answers with that failure.
class MessageTeam final : public Team {
 public:
  // Every member of the group opens its teams of one name in the same order; no message is sent. group and messenger
  // outlive the team. state: the caller is no member.
  static Result<std::unique_ptr<MessageTeam>> open(Messenger& messenger, Group& group, std::string_view name);
  // Of the team that is the `number`-th of its name in `group`; the same on every host. Each message of a team carries
  // it.
  [[nodiscard]] static std::uint64_t identity_of(const Group& group, std::string_view name, std::uint32_t number);

  [[nodiscard]] int rank() const noexcept override { return group_.rank(); }
  [[nodiscard]] int size() const noexcept override { return group_.size(); }
  Status minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) override;
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t deadline_ns) override;

 private:
  // Adds what came from a child to what is there.
  using Merge = std::function<Status(std::string& own, std::string_view other)>;

  MessageTeam(Messenger& messenger, Group& group, std::uint64_t identity, std::string name);
  // Makes the own part.
  using Fill = std::function<void(std::string& own)>;
  Result<std::string> combine(const Fill& fill, const Merge& merge, std::uint64_t deadline_ns);
  Status take_apart(const std::string& all, std::vector<std::string>& parts) const;
  Status collect(std::string& own, const Merge& merge, std::int32_t tag, std::uint64_t deadline_ns);
  [[nodiscard]] std::string image_of(const Status& status, const std::string& bytes) const;
  Status take_image(std::string image, int source, std::string& bytes) const;
  Status receive(std::string& bytes, int source, std::int32_t tag, std::uint64_t deadline_ns);
  void send(const Status& status, const std::string& bytes, int target, std::int32_t tag,
            std::uint64_t deadline_ns) noexcept;
  template <typename Body>
  Status with_memory(const Body& body) const noexcept;

  Messenger& messenger_;
  Group& group_;
  std::uint64_t identity_;
  std::uint32_t context_;
  std::uint32_t calls_ = 0;
  Status broken_;
  Status own_failure_;  // of the last call, which succeeded at the others: the next one tells them
  std::string name_;
};

}  // namespace couplet::message
