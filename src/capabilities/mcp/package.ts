export const PACKAGE = '@modelcontextprotocol/client';
export const MISSING = {
  message: `the package ${PACKAGE} is not installed`,
  hint: `Run: npm install ${PACKAGE}`,
};
