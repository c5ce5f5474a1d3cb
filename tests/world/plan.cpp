#include "plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

namespace world {
namespace {

Action parse_action(const std::string& text) {
  Action action;
  std::istringstream words(text);
  words >> action.verb;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      action.object = word;
    } else {
      action.values[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return action;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Reads a line such as "process writer/0 of 2 on 1: join; leave".
Role parse_role(const std::string& line) {
  Role role;
  const auto colon = line.find(':');
  std::istringstream head(line.substr(0, colon));
  std::string word;
  std::string name;
  head >> word >> name >> word >> role.size >> word >> role.node;
  role.program = name.substr(0, name.find('/'));
  role.rank = std::atoi(name.c_str() + name.find('/') + 1);
  std::istringstream script(line.substr(colon + 1));
  for (std::string one; std::getline(script, one, ';');) {
    role.script.push_back(parse_action(one));
  }
  return role;
}

}  // namespace

std::string Action::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values.find(key);
  return found == values.end() ? otherwise : found->second;
}

double Action::real(const std::string& key, double otherwise) const {
  const auto found = values.find(key);
  return found == values.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

std::int64_t Action::whole(const std::string& key, std::int64_t otherwise) const {
  const auto found = values.find(key);
  return found == values.end() ? otherwise : std::strtoll(found->second.c_str(), nullptr, 10);
}

std::string Action::to_text() const {
  std::string all = verb + (object.empty() ? "" : " " + object);
  for (const auto& [key, value] : values) {
    all += " " + key + "=" + value;
  }
  return all;
}

int Plan::node_count() const {
  int count = hub_node + 1;
  for (const Role& role : roles) {
    count = std::max(count, role.node + 1);
  }
  return count;
}

bool JobPlan::has(const std::string& program) const {
  return std::find(programs.begin(), programs.end(), program) != programs.end();
}

std::string Plan::to_text() const {
  std::string all = "seed " + std::to_string(seed) + "\nhub on " + std::to_string(hub_node) + "\nswitching " +
                    number_text(switching) + "\n";
  for (const auto& [key, value] : settings) {
    all += "setting " + key + "=" + value + "\n";
  }
  if (!job.programs.empty()) {
    all += "job mapped=" + std::to_string(job.mapped ? 1 : 0) + " served=" + std::to_string(job.served ? 1 : 0);
    for (const auto& program : job.programs) {
      all += " " + program;
    }
    all += "\n";
  }
  for (const Role& role : roles) {
    all += "process " + role.name() + " of " + std::to_string(role.size) + " on " + std::to_string(role.node) + ":";
    for (std::size_t index = 0; index < role.script.size(); ++index) {
      all += (index == 0 ? " " : "; ") + role.script[index].to_text();
    }
    all += "\n";
  }
  for (const Fault& fault : faults) {
    all += "fault " + number_text(fault.time_s) + " " + fault.what.to_text() + "\n";
  }
  return all;
}

Plan Plan::from_text(const std::string& text) {
  Plan plan;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "seed") {
      words >> plan.seed;
    } else if (word == "hub") {
      words >> word >> plan.hub_node;
    } else if (word == "switching") {
      words >> plan.switching;
    } else if (word == "setting") {
      words >> word;
      plan.settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    } else if (word == "job") {
      while (words >> word) {
        if (word.starts_with("mapped=")) {
          plan.job.mapped = word.ends_with("1");
        } else if (word.starts_with("served=")) {
          plan.job.served = word.ends_with("1");
        } else {
          plan.job.programs.push_back(word);
        }
      }
    } else if (word == "process") {
      plan.roles.push_back(parse_role(line));
    } else if (word == "fault") {
      Fault fault;
      words >> fault.time_s;
      std::string rest;
      std::getline(words, rest);
      fault.what = parse_action(rest);
      plan.faults.push_back(std::move(fault));
    }
  }
  return plan;
}

// Leaves out each fault, and then each action except joining and leaving.
std::vector<Plan> Plan::smaller() const {
  std::vector<Plan> all;
  for (std::size_t index = 0; index < faults.size(); ++index) {
    all.push_back(*this);
    all.back().faults.erase(all.back().faults.begin() + static_cast<std::ptrdiff_t>(index));
  }
  for (std::size_t index = 0; index < roles.size(); ++index) {
    for (std::size_t line = 1; line < roles[index].script.size(); ++line) {
      all.push_back(*this);
      auto& script = all.back().roles[index].script;
      script.erase(script.begin() + static_cast<std::ptrdiff_t>(line));
    }
  }
  for (const auto& [key, value] : settings) {
    all.push_back(*this);
    all.back().settings.erase(key);
  }
  return all;
}

}  // namespace world
