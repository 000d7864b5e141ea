export { useEffect, useMemo, useRef, useState } from 'preact/hooks';
