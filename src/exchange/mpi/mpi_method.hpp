// MpiMethod: what the methods over MPI have in common. A method is made in three steps, between which the members agree
// that all are well: prepare; each text goes to the port's peer; connect.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/mpi/buffers.hpp"
#include "exchange/mpi/team.hpp"

namespace couplet::exchange {

class MpiMethod : public Method {
 public:
  MpiMethod(std::string_view name, std::shared_ptr<Team> team) : name_(name), team_(std::move(team)) {}

  // Makes what the method needs. Collective over the team: calls of MPI may wait for the other members. Returns a text
  // for each port, or none at all.
  virtual Result<std::vector<std::string>> prepare() = 0;
  // Takes the texts of the peers. Collective over the team, too.
  virtual Status connect(std::span<const std::string> /*texts*/) { return {}; }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  // Many MPIs move data only while a process is in one of their calls.
  [[nodiscard]] bool is_driven() const noexcept override { return true; }
  // MPI has no call that waits for its messages and for others: the caller may only nap.
  bool before_sleep(Sleep& sleep) override {
    sleep = {};
    return true;
  }
  void after_sleep() noexcept override {}
  Result<bool> close() override { return team_->close(); }

 protected:
  [[nodiscard]] Team& team() const noexcept { return *team_; }
  [[nodiscard]] const Port& port(std::uint32_t number) const noexcept { return team_->ports()[number]; }
  [[nodiscard]] std::size_t port_count() const noexcept { return team_->ports().size(); }

 private:
  std::string_view name_;
  std::shared_ptr<Team> team_;
};

// What a member without ports has.
class IdleMethod final : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;
  Result<std::vector<std::string>> prepare() override { return std::vector<std::string>(); }
  Status begin(std::span<const std::uint32_t> /*sending*/, std::span<const std::uint32_t> /*receiving*/) override {
    return {};
  }
  [[nodiscard]] std::byte* outgoing(std::uint32_t /*port*/) override { return nullptr; }
  Status send(std::uint32_t /*port*/, std::uint64_t /*bytes*/) override { return {}; }
  Status all_sent() override { return {}; }
  Status poll() override { return {}; }
  [[nodiscard]] bool has_arrived(std::uint32_t /*port*/) const override { return false; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t /*port*/) const override { return {}; }
  [[nodiscard]] bool is_complete() const override { return true; }
  Status end() override { return {}; }
};

}  // namespace couplet::exchange
