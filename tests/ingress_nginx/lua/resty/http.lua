-- SPDX-License-Identifier: Apache-2.0
-- As lock.lua; it is for OCSP, which nothing here asks for.
return {}
