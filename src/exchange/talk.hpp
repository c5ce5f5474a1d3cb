// Talk over Couplet's own messages: the small facts that the members of an exchange tell each other while it is frozen.
// What all members say goes through a MessageTeam, which meets anew after a failure; what two neighbours say to each
// other goes straight between them, in the context of this exchange. Tests: tests/conformance/exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exchange/method.hpp"
#include "message/courier.hpp"
#include "message/team.hpp"

namespace couplet::exchange {

// Returns the context of that number in an exchange, with the number on which its members have agreed.
[[nodiscard]] std::uint32_t exchange_context(const message::Group& group, std::uint64_t epoch, std::uint64_t number);

class GroupTalk final : public Talk {
 public:
  // title: "exchange 'halo'". group, messenger and team outlive it.
  GroupTalk(message::Messenger& messenger, message::Group& group, message::Team& team, std::string title,
            std::uint64_t deadline_ns)
      : messenger_(messenger), group_(group), team_(team), title_(std::move(title)), deadline_ns_(deadline_ns) {}

  // The neighbours with which swap() talks from now on, and the context. news: returns an error if a neighbour has
  // given up; it is asked while swap() waits.
  void set_ports(std::uint32_t context, std::span<const std::int32_t> peers, std::function<Status()> news);

  Result<std::vector<std::string>> swap(std::span<const std::string> texts) override;
  Result<std::vector<std::string>> gather(const std::string& text) override;
  Status agree(const Status& own) override;

 private:
  [[nodiscard]] Status missing(const Status& why, std::int32_t rank) const;
  Status receive(std::string& answer, std::int32_t peer, std::int32_t tag);

  message::Messenger& messenger_;
  message::Group& group_;
  message::Team& team_;
  std::string title_;
  std::uint64_t deadline_ns_;
  std::uint32_t context_ = 0;
  std::int32_t calls_ = 0;
  bool has_gathered_ = false;
  // Why a call of the team has failed. Its members meet anew with the next one, which belongs to another freeze.
  Status failed_;
  std::vector<std::int32_t> peers_;
  std::function<Status()> news_;
};

// A part of the ports of another talk: all members make the same calls of both.
class PartTalk final : public Talk {
 public:
  // ports: their places in the list of all `all_count` ports of `whole`, which outlives it.
  PartTalk(Talk& whole, std::span<const std::uint32_t> ports, std::size_t all_count)
      : whole_(whole), ports_(ports.begin(), ports.end()), all_count_(all_count) {}

  Result<std::vector<std::string>> swap(std::span<const std::string> texts) override;
  Result<std::vector<std::string>> gather(const std::string& text) override { return whole_.gather(text); }
  Status agree(const Status& own) override { return whole_.agree(own); }

 private:
  Talk& whole_;
  std::vector<std::uint32_t> ports_;
  std::size_t all_count_;
};

}  // namespace couplet::exchange
