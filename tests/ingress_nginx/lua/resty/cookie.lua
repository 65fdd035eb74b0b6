-- SPDX-License-Identifier: Apache-2.0
-- Debian has it under another name.
return require("nginx.cookie")
